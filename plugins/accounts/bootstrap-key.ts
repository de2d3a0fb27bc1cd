import { randomBytes } from 'node:crypto';
import type { AccountsKit } from './config.ts';
import { bootstrapKeyFile } from './key-file.ts';
import { hashOf } from './token-document.ts';

/**
 * The hash of the key of the admin account: of the one in the config, or of one that is made at the first start and kept
 * in the data folder. Nodes that share data and were given none have the one in the folder of the node that
 * started first: the store holds its hash and which node that is.
 */
export async function bootstrapHash(kit: AccountsKit): Promise<Buffer> {
  const { bootstrapKey, dataDir, isAlone, node } = kit.deployment;
  if (bootstrapKey !== undefined) return hashOf(bootstrapKey);
  // It asks nobody for a key, and its folder is no place to look for one.
  if (!kit.deployment.nodes.own.roles.includes('api')) return randomBytes(32);
  const shared = isAlone ? undefined : await sharedKey(kit);
  if (shared) return shared;
  const create = () => randomBytes(24).toString('base64url');
  const { key, discard } = await bootstrapKeyFile(dataDir, { create });
  const hash = hashOf(key);
  if (isAlone) return hash;
  const body = JSON.stringify({ hash: hash.toString('hex'), node: node.id });
  const place = { kind: keyKind, id: keyId, account: '', createdAt: kit.clock.now(), name: '', revision: 0 };
  const written = await kit.resources.write({ rows: [{ ...place, body, indexes: {} }], events: [] });
  if (written === 'ok') return hash;
  // Another node was first: what this one has just made would open nothing.
  await discard();
  const made = await sharedKey(kit);
  if (!made) throw new Error('the bootstrap key was neither written nor there');
  return made;
}

const keyKind = 'singleton';
const keyId = 'bootstrap-key';

async function sharedKey(kit: AccountsKit): Promise<Buffer | undefined> {
  const row = await kit.resources.get(keyKind, keyId, { isPlain: true });
  if (!row) return undefined;
  const { hash, node } = JSON.parse(row.body) as { hash: string; node: string };
  if (node !== kit.deployment.node.id)
    kit.log.info('the bootstrap key is in the data folder of another node', { node });
  return Buffer.from(hash, 'hex');
}
