import { randomBytes, timingSafeEqual } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Fault } from '../../core/base/fault.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Secrets } from '../../core/ports/secrets.ts';
import type { Store } from '../../core/ports/store.ts';
import { sealing } from '../base/sealing.ts';

/** Beside the database. */
const fileName = 'secrets.key';
const row = { kind: 'secrets', id: 'check' } as const;
/** Bytes of the derived key that the store has: enough to notice another key, of no use for anything else. */
const checkLength = 16;

/**
 * What this deployment's key is for: that of the config, or the one in `<dataDir>/secrets.key`, which the first start makes. The
 * store has a check value of it. Fault `secrets.key` when the key is another one than that of the data, or is not there.
 */
export async function openSecrets(options: SecretsOptions): Promise<Secrets> {
  const { drivers, deployment, secretsKey, isAlone = drivers.bus === undefined } = options;
  const path = join(resolve(deployment.dataDir), fileName);
  const stored = await storedCheck(drivers.store);
  let key = secretsKey ?? (await keyIn(path));
  if (key === undefined) {
    if (stored)
      throw unfit(
        `${path}: is missing or empty, and the secrets of this database are sealed with it. Put it back from a backup, or set secretsKey`,
      );
    if (!isAlone)
      throw unfit('secretsKey: is required where there may be several nodes, the same on all of them');
    key = await newKey(path);
  }
  const secrets = sealing(Buffer.from(key));
  const own = Buffer.from(secrets.keyFor('check').subarray(0, checkLength));
  const check = stored ?? (await writeCheck(own, drivers));
  if (timingSafeEqual(own, check)) return secrets;
  const where = secretsKey === undefined ? path : 'secretsKey';
  throw unfit(
    `${where}: is not the key that the secrets of this database are sealed with. Set the key that the deployment had before, the same on all nodes`,
  );
}

interface SecretsOptions {
  readonly drivers: { readonly store: Store; readonly clock: Clock; readonly bus?: unknown };
  readonly deployment: { readonly dataDir: string };
  /** Of the config. */
  readonly secretsKey?: string;
  /** No other process has this data. Default: where there is no bus. */
  readonly isAlone?: boolean;
}

function unfit(message: string): Fault {
  return new Fault('secrets.key', { status: 500, message });
}

async function storedCheck(store: Store): Promise<Buffer | undefined> {
  const found = await store.resources.get(row.kind, row.id);
  return found && Buffer.from((JSON.parse(found.body) as { check: string }).check, 'hex');
}

/** Stores the check value; returns that of a node which was first. */
async function writeCheck(own: Buffer, { store, clock }: SecretsOptions['drivers']): Promise<Buffer> {
  const at = clock.now();
  const body = JSON.stringify({ check: own.toString('hex') });
  const rows = [{ ...row, account: '', createdAt: at, name: '', indexes: {}, revision: 0, body }];
  const { outcome } = await store.write({ at, rows, events: [] });
  if (outcome === 'ok') return own;
  const other = await storedCheck(store);
  if (!other) throw new Error('the check value of secretsKey was neither written nor there');
  return other;
}

async function keyIn(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw unfit(`${path}: cannot be read (${error.message}). Give the server's user the file`);
  });
  // Empty: a start died before it had written the key.
  return text?.trim() || undefined;
}

async function newKey(path: string): Promise<string> {
  const key = randomBytes(32).toString('base64url');
  const file = await open(path, 'w', 0o600);
  try {
    await file.writeFile(`${key}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  return key;
}
