import { readdirSync } from 'node:fs';

const folders = [
  '/usr/lib/x86_64-linux-gnu',
  '/usr/lib/aarch64-linux-gnu',
  '/usr/lib64',
  '/usr/lib',
  '/usr/local/lib',
];

/** Where the library is that ffmpeg speaks SRT by; undefined when it is not on this machine. */
export function libsrt(): string | undefined {
  for (const folder of folders) {
    const names = list(folder).filter((name) => /^libsrt(-gnutls|-openssl)?\.so\.1\.\d+$/.test(name));
    if (names.length > 0) return `${folder}/${names[0]}`;
  }
  return undefined;
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
