import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';

const interval = 100;

/** Hands on the lines that are added to a file from now on. Returns the end of it, which hands on what is left. */
export function follow(file: string, line: (text: string) => void): () => void {
  let at = existsSync(file) ? statSync(file).size : 0;
  let rest = '';
  const read = () => {
    if (!existsSync(file)) return;
    const { size } = statSync(file);
    if (size <= at) return;
    const bytes = Buffer.alloc(size - at);
    const open = openSync(file, 'r');
    at += readSync(open, bytes, { position: at });
    closeSync(open);
    const lines = (rest + bytes.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const one of lines) line(one);
  };
  const timer = setInterval(read, interval);
  return () => {
    clearInterval(timer);
    read();
    if (rest !== '') line(rest);
  };
}
