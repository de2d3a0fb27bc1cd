import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { exits, Failure } from './command.ts';

/** What `millrace login` stores. */
export interface Credentials {
  readonly server: string;
  readonly key: string;
}

/** Folder of what the command line keeps, by the XDG Base Directory Specification. */
export function configFolder(): string {
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'millrace');
}

export function credentialsFile(): string {
  return join(configFolder(), 'credentials.json');
}

/** Undefined where nobody has logged in. */
export async function readCredentials(): Promise<Credentials | undefined> {
  const file = credentialsFile();
  const content = await readPrivate(file);
  if (content === undefined) return undefined;
  const { server, key } = content as Partial<Record<keyof Credentials, unknown>>;
  if (typeof server !== 'string' || typeof key !== 'string') throw new Damaged(file);
  return { server, key };
}

export async function storeCredentials(credentials: Credentials): Promise<void> {
  await writePrivate(credentialsFile(), credentials);
}

/** The object in a JSON file, or undefined where there is none. */
export async function readPrivate(file: string): Promise<object | undefined> {
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Failure(`${file} cannot be read: ${error.message}. Correct its permissions.`, exits.config);
  });
  if (content === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(content);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Said below; the message of the parser quotes the file, which holds secrets.
  }
  throw new Damaged(file);
}

/** Writes a JSON file that only this user can read. A crash leaves the old one. */
export async function writePrivate(file: string, content: object): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 });
  const part = `${file}.${process.pid}`;
  await writeFile(part, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  // A file that was left by a crash keeps its own mode.
  await chmod(part, 0o600);
  await rename(part, file);
}

/** A file that holds something else than what this program writes there. */
export class Damaged extends Failure {
  constructor(file: string) {
    super(`${file} is damaged. Delete it, and run \`millrace login\` again.`, exits.config);
  }
}
