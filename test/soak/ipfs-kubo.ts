/**
 * Our CIDs and CARs against a real Kubo node, by hand: `npm run soak -- ipfs-kubo ~/bin/ipfs [GIB]`. It takes minutes to build, so the
 * tests have the table of what it said (`test/ipfs/cid-table.ts`). Adds by our driver and imports what we packed: the table, a
 * document, and a random file of GIB (3: more than 2 and less than 4 have a bug of their own in some libraries). Exits with 1
 * when a CID or a byte differs.
 */

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CidProfile } from '../../core/ports/packer.ts';
import { ipfsDriver } from '../../plugins/exports/ipfs/driver.ts';
import type { IpfsKit } from '../../plugins/exports/ipfs/ipfs-driver.ts';
import type { IpfsSettings } from '../../plugins/tasks/contract.ts';
import { fsBlobs } from '../../runtime/drivers/blobs/fs/index.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { packer as filePacker } from '../../runtime/drivers/packer/packer.ts';
import { until } from '../e2e/harness/wait.ts';
import { cidTable, tableBytes } from '../ipfs/cid-table.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { useOf } from '../kit/use.ts';
import { client } from '../outbound/kit.ts';

const [binary, gib = '3'] = process.argv.slice(2);
if (binary === undefined) {
  console.error('Name the binary of Kubo: npm run soak -- ipfs-kubo PATH [GIB]');
  process.exit(2);
}
const profiles: CidProfile[] = ['unixfs-v1-2025', 'unixfs-v0-2015'];
const key = 'assets/a/source.mp4';
const options = { signal: new AbortController().signal, progress() {} };
const folder = await mkdtemp(join(tmpdir(), 'millrace-kubo-'));
const env = { ...process.env, IPFS_PATH: join(folder, 'repo') };
let wrong = 0;

const [port, gateway] = await findFreePorts(2);
const endpoint = `http://127.0.0.1:${port}`;
await ipfs('init', '--profile=test');
await ipfs('config', 'Addresses.API', `/ip4/127.0.0.1/tcp/${port}`);
await ipfs('config', 'Addresses.Gateway', `/ip4/127.0.0.1/tcp/${gateway}`);
const daemon = spawn(binary, ['daemon', '--offline'], { env, stdio: 'ignore' });
const clock = systemClock();
const blobs = fsBlobs({ folder: join(folder, 'blobs') });
const outbound = client();
const packer = filePacker({ folder: join(folder, 'packing'), blobs, clock, reserve: 0 });
try {
  await blobs.open();
  await packer.open();
  const answers = async () => (await fetch(`${endpoint}/api/v0/version`, { method: 'POST' })).ok;
  await until('the node', answers, { within: 30_000 });
  for (const { size, cids } of cidTable) {
    await blobs.put(key, tableBytes(size));
    for (const profile of profiles) await compare(`${size} bytes`, { size, profile, cid: cids[profile] });
  }
  const size = Math.round(Number(gib) * 2 ** 30) + 1;
  await blobs.put(key, randomPieces(size), { size });
  for (const profile of profiles) await compare(`${size} random bytes`, { size, profile });
  for (const profile of profiles) await document(profile);
  // The node's own settings are of no account.
  await ipfs(
    'config',
    '--json',
    'Import',
    '{"CidVersion":0,"UnixFSChunker":"size-4096","UnixFSFileMaxLinks":8}',
  );
  await ipfs('config', 'Import.UnixFSDAGLayout', 'trickle');
  const { size: small, cids } = cidTable[4];
  await blobs.put(key, tableBytes(small));
  for (const profile of profiles)
    await compare('other settings', { size: small, profile, cid: cids[profile] });
} finally {
  daemon.kill();
  await once(daemon, 'exit');
  await packer.close();
  await blobs.close();
  outbound.close();
  await rm(folder, { recursive: true, force: true });
}
console.log(wrong === 0 ? 'the same everywhere' : `${wrong} differ`);
process.exit(wrong === 0 ? 0 : 1);

/** Adds the blob by its RPC, packs it here, and gives it our CAR when it has forgotten all it had. */
async function compare(
  what: string,
  given: { size: number; profile: CidProfile; cid?: string },
): Promise<void> {
  const { size, profile, cid } = given;
  const file = { key, size, name: `Ünï & co/${size}.mp4` };
  const added = await driverOf('kubo', profile).addFile(file, options);
  const pins = await ipfs('pin', 'ls', '--names', '--type=recursive', added.cid);
  check(`${what} by ${profile}: pinned by its name`, pins.includes(file.name));
  const packed = await driverOf('local', profile).addFile(file, options);
  check(`${what} by ${profile}: ${packed.cid}`, packed.cid === added.cid && added.cid === (cid ?? added.cid));
  await ipfs('pin', 'rm', added.cid);
  await ipfs('repo', 'gc', '--quiet');
  const car = await onlyCar();
  const imported = await ipfs('dag', 'import', '--stats', join(folder, 'blobs', car));
  check('  imported with the root', imported.includes(packed.cid));
  const found = await blobs.get(key);
  if (found.outcome !== 'ok') throw new Error(found.outcome);
  check('  the same bytes', (await sha256(found.body)) === (await sha256(run('cat', packed.cid).stdout)));
  await blobs.delete([car]);
}

async function onlyCar(): Promise<string> {
  const { blobs: found } = await blobs.list('assets/a/exports/', { limit: 2 });
  if (found.length !== 1) throw new Error(`${found.length} CARs`);
  return found[0].key;
}

async function document(profile: CidProfile): Promise<void> {
  const value = { name: 'Ünï', properties: { video: 'ipfs://bafy' } };
  const { signal } = options;
  const all = [];
  for (const driver of ['kubo', 'local'] as const)
    all.push(await driverOf(driver, profile).addJson(value, { name: 'a.json', signal }));
  check(`a document by ${profile}: ${all[0].cid}`, all[0].cid === all[1].cid);
  await blobs.delete([await onlyCar()]);
}

function driverOf(driver: 'kubo' | 'local', cidProfile: CidProfile) {
  const settings: IpfsSettings = {
    ...{ gateway: 'https://ipfs.io', cidProfile, pinningEndpoint: 'https://x' },
    ...(driver === 'kubo' ? { driver, endpoint } : { driver }),
  };
  const deployment = { publicUrl: 'http://localhost:8080' } as IpfsKit['deployment'];
  const kit: IpfsKit = { blobs, clock, deployment, outbound, use: useOf({ packer }, () => settings) };
  return ipfsDriver(kit, { assetId: 'a' });
}

function check(what: string, isGood: boolean): void {
  console.log(`${isGood ? 'ok  ' : 'FAIL'} ${what}`);
  if (!isGood) wrong += 1;
}

function run(...args: string[]) {
  return spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
}

async function ipfs(...args: string[]): Promise<string> {
  const child = run(...args);
  const ended = once(child, 'close');
  const text = await new Response(child.stdout as never).text();
  const [code] = await ended;
  if (code !== 0) throw new Error(`ipfs ${args.join(' ')} ended with ${code}`);
  return text;
}

async function sha256(source: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of source) hash.update(piece);
  return hash.digest('hex');
}

async function* randomPieces(size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < size; at += 2 ** 20) yield randomBytes(Math.min(2 ** 20, size - at));
}
