import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../core/base/fault.ts';
import type { AccountsKit } from './config.ts';
import { hashOf } from './token-document.ts';

/**
 * The hash of the bootstrap key, the key of the admin account: from the config, or generated at the first start and kept in the
 * data folder. Nodes that share data and have none in the config use the one of the node that started first: the store has
 * its hash and the id of that node.
 */
export async function bootstrapHash(kit: AccountsKit): Promise<Buffer> {
  const { bootstrapKey, dataDir, isAlone, node } = kit.deployment;
  if (bootstrapKey !== undefined) return hashOf(bootstrapKey);
  // It checks no keys, and nobody looks for one in its folder.
  if (!kit.deployment.nodes.own.roles.includes('api')) return randomBytes(32);
  const shared = isAlone ? undefined : await sharedKey(kit);
  if (shared) return shared;
  const { key, discard } = await bootstrapKeyFile(dataDir);
  const hash = hashOf(key);
  if (isAlone) return hash;
  const body = JSON.stringify({ hash: hash.toString('hex'), node: node.id });
  const place = { kind: keyKind, id: keyId, account: '', createdAt: kit.clock.now(), name: '', revision: 0 };
  const written = await kit.resources.write({ rows: [{ ...place, body, indexes: {} }], events: [] });
  if (written === 'ok') return hash;
  // Another node was first: the key that this one generated is useless.
  await discard();
  const made = await sharedKey(kit);
  if (!made) throw new Error('the bootstrap key was neither written nor there');
  return made;
}

const keyKind = 'singleton';
const keyId = 'bootstrap-key';

async function sharedKey(kit: AccountsKit): Promise<Buffer | undefined> {
  const row = await kit.resources.get(keyKind, keyId);
  if (!row) return undefined;
  const { hash, node } = JSON.parse(row.body) as { hash: string; node: string };
  if (node !== kit.deployment.node.id)
    kit.log.info('the bootstrap key is in the data folder of another node', { node });
  return Buffer.from(hash, 'hex');
}

/**
 * The bootstrap key of this data directory: `<dataDir>/bootstrap-key`, mode 0600, written and synced at the first start.
 * Throws a Fault when the file is empty. `discard` removes it, if it was written just now.
 */
export async function bootstrapKeyFile(
  dataDir: string,
): Promise<{ key: string; discard: () => Promise<void> }> {
  const path = join(dataDir, 'bootstrap-key');
  await mkdir(dataDir, { recursive: true });
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      const key = randomBytes(24).toString('base64url');
      await file.writeFile(`${key}\n`);
      await file.sync();
      return { key, discard: () => rm(path, { force: true }) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = (await readFile(path, 'utf8')).trim();
  if (key === '') {
    throw new Fault('accounts.no_key', {
      status: 500,
      message: `${path} is empty: delete it to get a new key, or write your own key into it.`,
    });
  }
  return { key, discard: async () => {} };
}
