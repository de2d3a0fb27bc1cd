import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { MillraceError } from '../sdk/client/index.ts';
import { type Command, exits, Failure, print } from './command.ts';
import { clientOf, keyPattern, placeOf, serverOptions, serverUrl, stranger } from './connection.ts';
import { credentialsFile, storeCredentials } from './credentials.ts';

/** Stores a server and a key, so that other commands need not name them. */
export const login: Command = {
  name: 'login',
  usage: '',
  summary: 'checks an API key and stores it with the URL of its server',
  details:
    'Asks for the URL and the key where they are not given. A key can also be piped in: millrace login --server URL < key-file\n' +
    'Other commands then use both. To log out, delete credentials.json in $XDG_CONFIG_HOME/millrace or ~/.config/millrace.',
  options: serverOptions,
  async run(given) {
    const place = await placeOf(given);
    const isNamed = given.options.server !== undefined || process.env.MILLRACE_URL !== undefined;
    const server = isNamed || !process.stdin.isTTY ? place.url : await askServer(place.url);
    const key = given.options.key ?? process.env.MILLRACE_KEY ?? (await askKey(server));
    if (typeof key !== 'string' || !keyPattern.test(key))
      throw new Failure('there is no key: give one with --key, or as the standard input.', exits.usage);
    await check({ url: server, key });
    await storeCredentials({ server, key });
    const file = credentialsFile();
    print(
      given.options.json
        ? JSON.stringify({ server, file })
        : `Logged in to ${server}. The key is in ${file}.`,
    );
    return exits.fine;
  },
};

/** Rejects when the server is no Millrace, or does not know the key. Which calls the key may make is no matter here. */
async function check(place: { url: string; key: string }): Promise<void> {
  try {
    const answer = await clientOf(place).request({ method: 'GET', path: '/api/api-token/current' });
    const { userId } = (await answer.json().catch(() => ({}))) as { userId?: unknown };
    if (typeof userId !== 'string') throw stranger(place.url, answer.status);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    if (error.code.startsWith('http.')) throw stranger(place.url, error.status);
    if (error.status === 401)
      throw new Failure(
        `the server does not accept this key, so it was not stored. Make one in the dashboard, or use the bootstrap key. (${error.message})`,
        exits.notAllowed,
      );
    // 403 and 404 are of a key that is known.
    if (![403, 404].includes(error.status)) throw error;
  }
}

async function askServer(known: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const answer = (await lines.question(`Server [${known}]: `)).trim();
  lines.close();
  const server = answer === '' ? known : serverUrl(answer);
  if (server === undefined)
    throw new Failure('expected a URL such as https://video.example.com.', exits.usage);
  return server;
}

/** Typed without an echo, or piped in. */
async function askKey(server: string): Promise<string> {
  const { isTTY } = process.stdin;
  if (!isTTY) return (await Bun.stdin.text()).trim();
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  // First, because it ends the echo of the terminal.
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  process.stderr.write(`API key for ${server}: `);
  const answer = (await lines.question('')).trim();
  lines.close();
  process.stderr.write('\n');
  return answer;
}
