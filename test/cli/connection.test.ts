import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { placeOf, serverUrl } from '../../cli/connection.ts';
import { credentialsFile, readCredentials, storeCredentials } from '../../cli/credentials.ts';
import { failureOf } from '../../cli/failure.ts';
import { limitOf } from '../../cli/rows.ts';
import { bytes, plain, table } from '../../cli/table.ts';
import { MillraceError } from '../../sdk/client/index.ts';
import { millrace } from './printed.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-config-'));
  vi.stubEnv('XDG_CONFIG_HOME', folder);
  for (const name of ['MILLRACE_URL', 'MILLRACE_KEY']) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const place = (options: Record<string, string> = {}) => placeOf({ arguments: [], options });

describe('where the server is, and the key', () => {
  it('an option goes before the environment, and that before what is stored', async () => {
    expect(await place()).toEqual({ url: 'http://127.0.0.1:8080', key: undefined });
    await storeCredentials({ server: 'https://stored.example', key: 'stored' });
    expect(await place()).toEqual({ url: 'https://stored.example', key: 'stored' });
    vi.stubEnv('MILLRACE_URL', 'https://environment.example/');
    vi.stubEnv('MILLRACE_KEY', 'environment');
    expect(await place()).toEqual({ url: 'https://environment.example', key: 'environment' });
    expect(await place({ server: 'https://option.example', key: 'option' })).toEqual({
      url: 'https://option.example',
      key: 'option',
    });
  });

  it('a stored key goes to its own server only', async () => {
    await storeCredentials({ server: 'https://stored.example', key: 'stored' });
    expect(await place({ server: 'https://other.example' })).toEqual({
      url: 'https://other.example',
      key: undefined,
    });
    expect(await place({ server: 'http://stored.example' })).toMatchObject({ key: undefined });
    expect(await place({ server: 'https://STORED.example/' })).toMatchObject({ key: 'stored' });
  });

  it('only the user can read what is stored', async () => {
    await storeCredentials({ server: 'https://stored.example', key: 'stored' });
    expect(credentialsFile()).toBe(join(folder, 'millrace/credentials.json'));
    expect(statSync(credentialsFile()).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'millrace')).mode & 0o777).toBe(0o700);
    expect(await readCredentials()).toEqual({ server: 'https://stored.example', key: 'stored' });
  });

  it.each(['{"server": "x"', '{"server": 1, "key": "secret"}', '"secret"'])(
    'a damaged file is a matter of the config: %s',
    async (content) => {
      mkdirSync(join(folder, 'millrace'));
      writeFileSync(credentialsFile(), content);
      const { code, error } = await millrace('stream', 'list');
      expect([code, error]).toEqual([78, expect.stringContaining('is damaged. Delete it')]);
      expect(error).not.toContain('secret');
    },
  );

  it.each([
    [['stream', 'list', '--server', 'localhost:8080'], 2, '--server: expected a URL'],
    [['stream', 'list'], 77, 'Run `millrace login`'],
    [['stream', 'list', '--limit', '0'], 2, '--limit: expected a number'],
    [['export', 'a', '--ipfs', '--url', 'http://a'], 2, 'either --ipfs or --url URL'],
    [['export', 'a', '--url', 'http://a', '--header', 'secret'], 2, '--header: expected a name and a value'],
    [['webhook', 'listen', '--forward', 'localhost'], 2, '--forward: expected a URL'],
    [['webhook', 'listen', '--secret', 'short'], 2, '--secret: expected at least 8'],
    [['push', '/none.mp4'], 2, '/none.mp4 is no file'],
    [['upload', '/none.mp4', '--key', 'k'], 2, '/none.mp4 is no file'],
    [['stream', 'show', 'a', '--key', 'k', '--server', 'http://127.0.0.1:1'], 69, 'cannot be reached'],
    [['login', '--key', 'two words'], 2, 'there is no key'],
  ])('millrace %j ends with %i', async (words, code, said) => {
    const ended = await millrace(...words);
    expect([ended.code, ended.out]).toEqual([code, '']);
    expect(ended.error).toContain(said);
    expect(ended.error).toMatch(/^millrace [^\n]+\n$/);
    expect(ended.error).not.toContain('secret.');
  });
});

it.each([
  [401, 77, /does not accept the API key/],
  [403, 77, /may not do this/],
  [404, 1, /^There is none\.$/],
  [503, 1, /Try again in 5 s/],
])('an answer with %i ends with %i', (status, exit, message) => {
  const retryAfter = status === 503 ? 5 : undefined;
  const error = new MillraceError({ status, code: 'x', errors: ['There is none.'], retryAfter });
  expect(failureOf(error)).toMatchObject({ exit, message: expect.stringMatching(message) });
});

it('an error of the program itself is none of the user', () => {
  expect(failureOf(new TypeError('x is undefined'))).toBeUndefined();
});

it.each([
  ['http://a', 'http://a'],
  ['https://a:1/b//', 'https://a:1/b'],
  ['ftp://a', undefined],
  ['a', undefined],
])('the URL %s of a server is %s', (given, url) => expect(serverUrl(given)).toBe(url));

it('shows what servers say in lines of its own making', () => {
  expect(
    table(
      ['A', 'B'],
      [
        ['1', 'a\u001b[31m\nb'],
        ['22', ''],
      ],
    ),
  ).toBe('A   B\n1   a [31m b\n22');
  expect(plain('\u009b31m')).toBe(' 31m');
  expect([0, 999, 1000, 12_345_678].map(bytes)).toEqual(['0 B', '999 B', '1.0 kB', '12.3 MB']);
  expect(limitOf({ arguments: [], options: { limit: '7' } })).toBe(7);
});
