import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type IpfsKit, ipfsDriver } from '../../plugins/exports/ipfs/driver.ts';
import type { IpfsSettings } from '../../plugins/tasks/contract.ts';
import { modelBlobs } from '../conformance/blobs/model.ts';
import { until } from '../e2e/harness/wait.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { scriptedPacker } from '../kit/scripted-packer.ts';
import { client } from '../outbound/kit.ts';
import { cidTable, tableBytes } from './cid-table.ts';

/**
 * A real Kubo node, by hand: `MILLRACE_KUBO=<path of ipfs>`. It takes minutes to build, so CI has the table of what it said
 * (`cid-table.ts`) instead.
 */
const binary = process.env.MILLRACE_KUBO ?? '';
const key = 'assets/a/source.mp4';
const signal = new AbortController().signal;
const profiles = ['unixfs-v1-2025', 'unixfs-v0-2015'] as const;

describe.skipIf(binary === '')('a real Kubo node', () => {
  let node: Awaited<ReturnType<typeof kubo>>;
  beforeAll(async () => {
    node = await kubo();
  }, 60_000);
  afterAll(() => node?.stop());

  describe.each(profiles)('%s', (cidProfile) => {
    const opened = (settings: { driver: 'local' } | { driver: 'kubo'; endpoint: string }) => {
      const blobs = modelBlobs();
      const outbound = client();
      const all: IpfsSettings = {
        gateway: 'https://ipfs.io',
        cidProfile,
        pinningEndpoint: 'https://x',
        ...settings,
      };
      const kit: IpfsKit = { blobs, outbound, packer: scriptedPacker(blobs), use: () => all as never };
      return { blobs, outbound, driver: ipfsDriver(kit, { assetId: 'a' }) };
    };

    it.each(cidTable)('adds and pins $size bytes as the table says', async ({ size, cids }) => {
      const { blobs, outbound, driver } = opened({ driver: 'kubo', endpoint: node.url });
      await blobs.put(key, tableBytes(size));
      const file = { key, size, name: `Ünï & co/${size}.mp4` };
      expect(await driver.addFile(file, { signal, progress() {} })).toEqual({ cid: cids[cidProfile] });
      expect(await node.run('pin', 'ls', '--names', '--type=recursive', cids[cidProfile])).toContain(
        file.name,
      );
      outbound.close();
    });

    it.each(cidTable)('imports and gives back $size bytes of our CAR', async ({ size, cids }) => {
      const { blobs, driver, outbound } = opened({ driver: 'local' });
      await blobs.put(key, tableBytes(size));
      await driver.addFile({ key, size, name: 'a' }, { signal, progress() {} });
      const [{ key: at }] = (await blobs.list('assets/a/exports/', { limit: 1 })).blobs;
      const found = await blobs.get(at);
      if (found.outcome !== 'ok') throw new Error(found.outcome);
      const car = join(node.folder, 'a.car');
      await writeFile(car, await new Response(found.body).bytes());
      // What the tests before it added is not there any more.
      await node.run('pin', 'rm', cids[cidProfile]).catch(() => {});
      await node.run('repo', 'gc', '--quiet');
      expect(await node.run('dag', 'import', '--stats', car)).toContain(cids[cidProfile]);
      expect((await node.bytes('cat', cids[cidProfile])).equals(tableBytes(size))).toBe(true);
      outbound.close();
    });

    it('gives a document the CID that we give it', async () => {
      const document = { name: 'Ünï', properties: { video: 'ipfs://bafy' } };
      const both = [];
      for (const settings of [{ driver: 'kubo', endpoint: node.url }, { driver: 'local' }] as const) {
        const { driver, outbound } = opened(settings);
        both.push(await driver.addJson(document, { name: 'a.json', signal }));
        outbound.close();
      }
      expect(both[0]).toEqual(both[1]);
    });
  });

  it('of other settings gives the same CID', async () => {
    for (const [name, value] of [
      ['Import.CidVersion', '0'],
      ['Import.UnixFSRawLeaves', 'false'],
      ['Import.UnixFSChunker', '"size-4096"'],
      ['Import.UnixFSFileMaxLinks', '8'],
      ['Import.UnixFSDAGLayout', '"trickle"'],
    ])
      await node.run('config', '--json', name, value);
    const { size, cids } = cidTable[4];
    const blobs = modelBlobs();
    await blobs.put(key, tableBytes(size));
    const outbound = client();
    const settings: IpfsSettings = {
      ...{ driver: 'kubo', endpoint: node.url, gateway: 'https://ipfs.io' },
      ...{ cidProfile: 'unixfs-v1-2025', pinningEndpoint: 'https://x' },
    };
    const kit: IpfsKit = { blobs, outbound, packer: scriptedPacker(blobs), use: () => settings as never };
    const { cid } = await ipfsDriver(kit, { assetId: 'a' }).addFile(
      { key, size, name: 'a' },
      { signal, progress() {} },
    );
    expect(cid).toBe(cids['unixfs-v1-2025']);
    outbound.close();
  });
});

/** One that knows nobody. */
async function kubo() {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-kubo-'));
  const env = { ...process.env, IPFS_PATH: join(folder, 'repo') };
  const [port, gateway] = await findFreePorts(2);
  const bytes = async (...args: string[]): Promise<Buffer> => {
    const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on('data', (piece) => pieces.push(piece));
    child.stderr.on('data', (piece) => errors.push(piece));
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`ipfs ${args.join(' ')}: ${Buffer.concat(errors)}`);
    return Buffer.concat(pieces);
  };
  const run = async (...args: string[]) => (await bytes(...args)).toString();
  await run('init', '--profile=test');
  await run('config', 'Addresses.API', `/ip4/127.0.0.1/tcp/${port}`);
  await run('config', 'Addresses.Gateway', `/ip4/127.0.0.1/tcp/${gateway}`);
  const daemon = spawn(binary, ['daemon', '--offline'], { env, stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    daemon.kill();
    await once(daemon, 'exit');
    await rm(folder, { recursive: true, force: true });
  };
  const answers = async () => (await fetch(`${url}/api/v0/version`, { method: 'POST' })).ok;
  await until('the node', answers, { within: 30_000 }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { folder, url, run, bytes, stop };
}
