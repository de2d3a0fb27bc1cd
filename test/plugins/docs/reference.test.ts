import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { pageFiles, referencePage } from '../../../plugins/docs/reference.ts';

const vendor = join(import.meta.dirname, '../../../plugins/docs/vendor');
const request = (headers: Record<string, string> = {}) => new Request('http://localhost:8080/', { headers });
const scalar = async (headers?: Record<string, string>) => {
  const served = await pageFiles()('scalar.js');
  if (!served) throw new Error('there is no scalar.js');
  return served(request(headers));
};
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

it('has Scalar as npm has it, in every encoding', async () => {
  const facts = JSON.parse(readFileSync(join(vendor, 'scalar.json'), 'utf8')) as { sha256: string };
  const [br, gzip, plain] = await Promise.all([
    scalar({ 'accept-encoding': 'gzip, deflate, br' }),
    scalar({ 'accept-encoding': 'gzip, deflate' }),
    scalar(),
  ]);
  expect([br, gzip, plain].map(({ headers }) => headers.get('content-encoding'))).toEqual([
    'br',
    'gzip',
    null,
  ]);
  expect(new Set([br, gzip, plain].map(({ headers }) => headers.get('etag'))).size).toBe(3);
  const packed = await br.bytes();
  expect(packed.length).toBeLessThan(1_200_000);
  expect(sha256(brotliDecompressSync(packed))).toBe(facts.sha256);
  expect(sha256(gunzipSync(await gzip.bytes()))).toBe(facts.sha256);
  expect(sha256(await plain.bytes())).toBe(facts.sha256);
});

it('is sent once', async () => {
  const { headers } = await scalar({ 'accept-encoding': 'br' });
  const again = await scalar({ 'accept-encoding': 'br', 'if-none-match': headers.get('etag') ?? '' });
  expect([again.status, await again.text()]).toEqual([304, '']);
});

it('runs no script and asks no host but those of this server', async () => {
  const answer = await referencePage()(request());
  const policy = Object.fromEntries(
    (answer.headers.get('content-security-policy') ?? '').split('; ').map((part) => {
      const [name = '', ...sources] = part.split(' ');
      return [name, sources.join(' ')];
    }),
  );
  expect(policy).toMatchObject({
    ...{ 'default-src': "'none'", 'script-src': "'self'", 'connect-src': "'self'" },
    ...{ 'frame-ancestors': "'none'", 'form-action': "'none'" },
  });
  const page = await answer.text();
  const loaded = [...page.matchAll(/(?:src|href)="(\/docs\/app\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(loaded.length).toBeGreaterThan(5);
  const file = pageFiles();
  for (const path of loaded) {
    const served = await file(path.replace('/docs/app/', ''));
    expect([path, (await served?.(request()))?.status]).toEqual([path, 200]);
  }
  expect(page).not.toMatch(/https?:/);
});

it.each(['../index.ts', 'reference.html', 'vendor/scalar.json', '__proto__', 'constructor', ''])(
  'has no file %j',
  async (name) => {
    expect(await pageFiles()(name)).toBeUndefined();
  },
);
