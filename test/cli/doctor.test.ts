import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { findFreePorts } from '../kit/free-ports.ts';
import { millrace } from './printed.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-doctor-'));
  vi.stubEnv('XDG_CONFIG_HOME', folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const host = '127.0.0.1';

/** The findings with this config, and the exit code. */
async function diagnosed(config: object, ...words: readonly string[]) {
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  const { code, out } = await millrace('doctor', '--config', file, '--json', ...words);
  return { code, findings: JSON.parse(out) as { state: string; about: string; says: string }[] };
}

it('finds a machine fine on which a server can start', async () => {
  const [http, rtmp, nobody] = await findFreePorts(3);
  const config = { http: { host, port: http }, rtmp: { host, port: rtmp }, dataDir: join(folder, 'data') };
  vi.stubEnv('MILLRACE_URL', undefined);
  const { code, findings } = await diagnosed(config);
  expect(code).toBe(0);
  expect(new Set(findings.map(({ about }) => about))).toEqual(
    new Set(['version', 'config', 'port', 'disk', 'ffmpeg', 'engine', 'clock', 'server']),
  );
  expect(findings.filter(({ about }) => about === 'port').map(({ says }) => says)).toEqual([
    `${http} (http.port) is free`,
    `${rtmp} (rtmp.port) is free`,
  ]);
  // A server that is named should be there.
  const named = await diagnosed(config, '--server', `http://${host}:${nobody}`);
  expect(named.code).toBe(1);
  expect(named.findings.at(-1)).toMatchObject({ state: 'bad', about: 'server' });
});

it('finds a port that another program has, an ffmpeg that does not run, and engines that are away', async () => {
  const [rtmp, away] = await findFreePorts(2);
  const other = createServer().listen(0, host);
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const ffmpeg = join(folder, 'ffmpeg');
  writeFileSync(ffmpeg, '#!/bin/sh\nexit 3\n');
  chmodSync(ffmpeg, 0o755);
  const { code, findings } = await diagnosed({
    ...{
      http: { host, port },
      rtmp: { host, port: rtmp },
      dataDir: join(folder, 'data'),
      ffmpeg: { path: ffmpeg },
    },
    ...{ preset: 'cluster', node: { id: 'a', secret: 'a-secret-of-the-nodes' } },
    secretsKey: 'a-secrets-key-of-the-nodes',
    ...{ redis: { url: `redis://${host}:${port}` }, kafka: { brokers: [`${host}:${away}`] } },
  });
  other.close();
  expect(code).toBe(1);
  const says = findings.filter(({ about }) => ['port', 'ffmpeg', 'engine'].includes(about));
  expect(says.map(({ state, says }) => [state, says])).toEqual([
    ['bad', `${port} (http.port) is in use by another program. End that, or change http.port.`],
    ['ok', `${rtmp} (rtmp.port) is free`],
    ['bad', expect.stringContaining(`${ffmpeg} does not run`)],
    ['ok', `Redis at ${host}:${port} accepts connections`],
    ['bad', `Kafka at ${host}:${away} cannot be reached (ECONNREFUSED). Start it, or correct the config.`],
  ]);
});

it('says what is wrong with the config, and ends with 78', async () => {
  const { code, findings } = await diagnosed({ http: { port: 'nonsense' }, nonsense: 1 });
  expect(code).toBe(78);
  expect(findings.filter(({ state }) => state === 'bad').map(({ says }) => says)).toEqual(
    expect.arrayContaining([
      expect.stringContaining('http.port: expected integer'),
      expect.stringContaining('nonsense'),
    ]),
  );
  expect(findings.some(({ about }) => about === 'port')).toBe(false);
});
