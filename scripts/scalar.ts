/**
 * Takes the API reference from npm: `sh scripts/bun.sh scripts/scalar.ts 1.76.0` writes plugins/docs/vendor. The package itself is no
 * dependency: it brings 284 others of 311 MB, of which the one file here needs none.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const run = promisify(execFile);
const vendor = join(import.meta.dirname, '../plugins/docs/vendor');
const version = process.argv[2];
if (!/^\d+\.\d+\.\d+$/.test(version ?? '')) {
  console.error('usage: sh scripts/bun.sh scripts/scalar.ts <version, such as 1.76.0>');
  process.exit(2);
}

const folder = await mkdtemp(join(tmpdir(), 'scalar-'));
try {
  // npm compares the tarball with the integrity that the registry names.
  const { stdout } = await run('npm', ['pack', `@scalar/api-reference@${version}`, '--silent'], {
    cwd: folder,
  });
  await run('tar', ['-xzf', stdout.trim()], { cwd: folder });
  const source = await readFile(join(folder, 'package/dist/browser/standalone.js'), 'utf8');
  // Its source map stays where it is, so browsers are not sent to it.
  const script = Buffer.from(source.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n'));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: script.length,
  };
  const packed = await promisify(brotliCompress)(script, { params });
  await writeFile(join(vendor, 'scalar.js.br'), packed);
  const sha256 = createHash('sha256').update(script).digest('hex');
  const facts = { package: '@scalar/api-reference', version, file: 'dist/browser/standalone.js', sha256 };
  await writeFile(join(vendor, 'scalar.json'), `${JSON.stringify(facts, null, 2)}\n`);
  console.log(`${script.length} bytes, ${packed.length} as Brotli`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
