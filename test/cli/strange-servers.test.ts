import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { clientOf } from '../../cli/connection.ts';
import { filmOf, readNote, writeNote } from '../../cli/upload-note.ts';
import { millrace } from './printed.ts';

/** Servers that are no Millrace, or lie. */
let folder: string;
const servers: { close(): void }[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-strange-'));
  vi.stubEnv('XDG_CONFIG_HOME', folder);
  vi.stubEnv('MILLRACE_KEY', 'a-key');
});
afterAll(() => {
  vi.unstubAllEnvs();
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true });
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push({
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const page: RequestListener = (_, response) => {
  response.setHeader('content-type', 'text/html');
  response.end('<!doctype html><title>Another site</title>');
};
const json =
  (value: unknown, status = 200): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
/** What a terminal obeys: a title, a colour in two forms, and an order of writing. */
const orders = '\u001b]0;title\u0007 \u001b[31m \u009b31m \u202e';
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const obeyed = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

describe('a server that is no Millrace', () => {
  it.each([['stream', 'list'], ['stream', 'show', 'x'], ['events'], ['login']])(
    'is named as such by millrace %s %s',
    async (...words) => {
      const url = await serve(page);
      const { code, out, error } = await millrace(...words.filter(Boolean), '--server', url);
      expect([code, out]).toEqual([1, '']);
      expect(error).toContain(`${url} answers, but not as a Millrace server does (200). Check the URL.\n`);
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it('gets no key that is kept, even if it answers with JSON', async () => {
    const { code, error } = await millrace('login', '--server', await serve(json({})));
    expect([code, error]).toEqual([1, expect.stringContaining('not as a Millrace server does')]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('that sends elsewhere gets a sentence, and the other server no key', async () => {
    let asked = 0;
    const other = await serve((_, response) => {
      asked += 1;
      response.end();
    });
    const url = await serve((_, response) => response.writeHead(302, { location: other }).end());
    const { code, error } = await millrace('stream', 'list', '--server', url);
    expect([code, asked]).toEqual([1, 0]);
    expect(error).toBe(
      `millrace stream list: ${url} sends elsewhere, and no key goes there. Name the server by the URL that it sends to, such as one with https.\n`,
    );
  });

  it('whose answer is cut off gets a sentence', async () => {
    const { code, error } = await millrace('stream', 'list', '--server', await serve(json('[{"id":')));
    expect([code, error]).toEqual([
      1,
      expect.stringMatching(/^millrace stream list: [^\n]*no JSON[^\n]*\n$/),
    ]);
  });

  it('that never answers is not waited for without end', async () => {
    const url = await serve(() => {});
    const client = clientOf({ url, key: 'a-key' }, { silence: 50 });
    await expect(client.getStream({ id: 'x' })).rejects.toMatchObject({
      exit: 69,
      message: expect.stringContaining('no answer in 0.05 s'),
    });
  });
});

describe('text of a server', () => {
  it('gives the terminal no orders, whichever command shows it', async () => {
    const refusing = await serve(json({ code: 'x.y', errors: [`No ${orders}`] }, 400));
    const refused = await millrace('stream', 'list', '--server', refusing);
    expect(refused.error).toContain('No \\u001b]0;title\\u0007');
    const stream = {
      id: 'a',
      name: orders,
      issues: [orders],
      createdAtMs: 1,
      watchUrl: orders,
      isActive: true,
    };
    const url = await serve(json(stream));
    const shown = await millrace('stream', 'show', 'a', '--server', url);
    const listed = await millrace('stream', 'show', 'a', '--json', '--server', url);
    expect([refused.code, shown.code, listed.code]).toEqual([1, 0, 0]);
    for (const { out, error } of [refused, shown, listed]) expect(out + error).not.toMatch(obeyed);
    expect(JSON.parse(listed.out)).toEqual(stream);
  });
});

describe('what a command is given', () => {
  it.each([
    [['stream', 'show', ''], 2, 'millrace stream show: an argument is empty.'],
    [['task', 'follow', ''], 2, 'millrace task follow: an argument is empty.'],
    [['stream', 'list', '--key', 'ключ'], 77, 'the API key has characters that no key has'],
  ])('%j ends with %i', async (words, code, said) => {
    const ended = await millrace(...words);
    expect([ended.code, ended.error]).toEqual([code, expect.stringContaining(said)]);
  });

  it('the note of an upload may be damaged: the upload begins anew', async () => {
    const path = join(folder, 'film.mp4');
    writeFileSync(path, 'film');
    const film = await filmOf(path, { url: 'http://a', key: 'k' } as Parameters<typeof filmOf>[1]);
    mkdirSync(dirname(film.note), { recursive: true });
    for (const content of ['', '{"tus', '[]', '{"tusEndpoint":1,"assetId":"a","taskId":"t"}']) {
      writeFileSync(film.note, content);
      expect(await readNote(film)).toBeUndefined();
    }
    const note = { tusEndpoint: 'http://a/tus', assetId: 'a', taskId: 't' };
    await writeNote(film, note);
    expect(await readNote(film)).toEqual(note);
  });
});
