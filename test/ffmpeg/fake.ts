import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A program that says it is ffmpeg, and otherwise does what `script` (sh) says. `hides`: it takes options from a file; or what it
 * does (sh) when it is tried whether it does.
 */
export async function fakeFfmpeg(
  script: string,
  { hides = true }: { hides?: boolean | string } = {},
): Promise<AsyncDisposable & { path: string; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-fake-ffmpeg-'));
  const path = join(folder, 'ffmpeg');
  await writeFile(
    path,
    `#!/bin/sh
case "$*" in
  *-version) printf 'ffmpeg version 7.1.1-fake Copyright\\nlibavformat    61.  7.103 / 61.  7.103\\n'; exit;;
  *-protocols) printf 'Supported file protocols:\\nInput:\\n  file\\n  gopher\\nOutput:\\n  pipe\\n  srt\\n'; exit;;
  *srt://127.0.0.1:9) ${typeof hides === 'string' ? hides : hides ? heeds : ignores}; exit 1;;
esac
${script}
`,
  );
  await chmod(path, 0o755);
  return { path, folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

export const heeds = "echo 'Error setting option pkt_size' >&2";
const ignores = "echo 'Connection to srt://127.0.0.1:9 failed: Input/output error' >&2";

/** Reads a stream FLV of no use to anyone. */
export const anyCommand = {
  input: { format: 'flv' },
  output: { target: 'pipe:1', format: 'mpegts', protocol: 'pipe' },
} as const;
