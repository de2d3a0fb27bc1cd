import { readFile } from 'node:fs/promises';
import { Fault } from '../../core/base/fault.ts';

/** A file that a key of the config names. Fault `config.invalid` with that key when it cannot be read. */
export async function readPem(key: string, path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((error: Error) => {
    throw new Fault('config.invalid', { status: 500, message: `${key}: ${error.message}` });
  });
}
