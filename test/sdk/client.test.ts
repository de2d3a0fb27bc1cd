import { type Client, MillraceError, millrace } from 'millrace/client';
import { describe, expect, it } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { bootstrapKey, type World, world } from '../kit/world.ts';

const baseUrl = 'http://localhost:8080';
const plugins = await allPlugins();

function clientOf(w: World): Client {
  return millrace({
    ...{ baseUrl: `${baseUrl}/`, key: bootstrapKey },
    fetch: (request) => w.app.handle(Object.assign(request, { peer: '127.0.0.1' })),
  });
}

describe('the client on the program', () => {
  it('creates, changes, reads and deletes', async () => {
    await using w = await world({ plugins });
    const client = clientOf(w);
    const { id, record, streamKey } = await client.createStream({ body: { name: 'Friday', record: false } });
    expect([record, typeof streamKey]).toEqual([false, 'string']);
    expect(await client.changeStream({ id, body: { record: true } })).toBeUndefined();
    expect(await client.getStream({ id })).toMatchObject({ id, name: 'Friday', record: true });
    await client.deleteStream({ id });
    const gone = await client.getStream({ id }).catch((error: unknown) => error);
    expect(gone).toBeInstanceOf(MillraceError);
    expect(gone).toMatchObject({ status: 404, code: 'stream.not_found', errors: [expect.any(String)] });
  });

  it('reads a list page by page, with filters and order', async () => {
    await using w = await world({ plugins });
    const client = clientOf(w);
    for (const name of ['a1', 'b1', 'a2', 'a3']) await client.createStream({ body: { name } });
    const query = { limit: 2, order: 'name-false', filters: [{ id: 'name', value: 'a' }] } as const;
    const pages: string[][] = [];
    for await (const page of client.pages('listStreams', { query })) pages.push(page.map(({ name }) => name));
    expect(pages).toEqual([['a1', 'a2'], ['a3']]);
    expect(await client.listStreams({ query: { active: true } })).toEqual([]);
  });

  it('names every field that is wrong', async () => {
    await using w = await world({ plugins });
    const call = clientOf(w).createStream({ body: { name: '', nonsense: 1 } as never });
    await expect(call).rejects.toMatchObject({ status: 422, code: 'body.invalid' });
    await expect(call).rejects.toThrow(/nonsense/);
  });

  it('calls a route that its types do not have', async () => {
    await using w = await world({ plugins });
    const answer = await clientOf(w).request({ method: 'GET', path: '/openapi.json' });
    expect(((await answer.json()) as { openapi: string }).openapi).toBe('3.1.0');
  });

  it.each(['@other.example/x', '.other.example/x', 'api/stream'])(
    'sends nothing for the path %s, which may be on another host',
    async (path) => {
      const sent: string[] = [];
      const client = millrace({
        ...{ baseUrl: 'https://video.example.com', key: bootstrapKey },
        fetch: async ({ url }) => {
          sent.push(url);
          return Response.json({});
        },
      });
      await expect(client.request({ method: 'GET', path })).rejects.toThrow('path: expected one such as');
      expect(sent).toEqual([]);
    },
  );

  it('refuses a path without its parameter before it sends anything', async () => {
    await using w = await world({ plugins });
    const call = clientOf(w).getStream({ id: undefined as never });
    await expect(call).rejects.toThrow('id: expected a text');
  });
});

/** Answers in order, and what was sent. */
function scripted(answers: readonly (() => Response)[], options: { attempts?: number } = {}) {
  const sent: Request[] = [];
  const client = millrace({
    ...{ baseUrl, ...options },
    fetch: async (request) => (answers[sent.push(request) - 1] as () => Response)(),
  });
  return { client, sent };
}

const busy = () =>
  Response.json({ errors: ['Busy.'], code: 'store.busy' }, { status: 503, headers: { 'retry-after': '0' } });
const fine = () => Response.json({ id: 'a' });

describe('what it sends again', () => {
  it.each<[string, (client: Client) => Promise<unknown>]>([
    ['GET', (client) => client.getStream({ id: 'a' })],
    [
      'a POST with a key of its own, which stays the same',
      (client) => client.createStream({ body: { name: 'a' } }),
    ],
    ['DELETE', (client) => client.deleteStream({ id: 'a' })],
  ])('%s', async (_, call) => {
    const { client, sent } = scripted([busy, busy, fine]);
    await call(client);
    const keys = new Set(sent.map(({ headers }) => headers.get('idempotency-key')));
    expect([sent.length, keys.size]).toEqual([3, 1]);
  });

  it('never PATCH, nor what the server does not invite to repeat', async () => {
    const patch = scripted([busy]);
    await expect(patch.client.changeStream({ id: 'a', body: {} })).rejects.toMatchObject({ status: 503 });
    const silent = scripted([() => new Response('<html>', { status: 503 })]);
    await expect(silent.client.getStream({ id: 'a' })).rejects.toMatchObject({ code: 'http.503' });
    const long = scripted([() => new Response(null, { status: 503, headers: { 'retry-after': '31' } })]);
    await expect(long.client.getStream({ id: 'a' })).rejects.toMatchObject({ retryAfter: 31 });
    expect([patch, silent, long].map(({ sent }) => sent.length)).toEqual([1, 1, 1]);
  });

  it('at most as often as it was told', async () => {
    const { client, sent } = scripted([busy, busy, busy], { attempts: 2 });
    await expect(client.getStream({ id: 'a' })).rejects.toMatchObject({ code: 'store.busy' });
    expect(sent).toHaveLength(2);
  });

  it('nothing to where an answer sends it', async () => {
    const { client, sent } = scripted([fine]);
    await client.createStream({ body: { name: 'A' } });
    expect(sent.map(({ redirect }) => redirect)).toEqual(['error']);
  });

  it('nothing after it was stopped', async () => {
    const later = () => new Response(null, { status: 503, headers: { 'retry-after': '20' } });
    const { client, sent } = scripted([later, fine]);
    const stop = new AbortController();
    const call = client.getStream({ id: 'a', signal: stop.signal });
    queueMicrotask(() => stop.abort(new Error('enough')));
    await expect(call).rejects.toThrow('enough');
    expect(sent).toHaveLength(1);
  });
});

describe('the event stream', () => {
  const stream =
    (...blocks: string[]) =>
    () =>
      new Response(new Blob(blocks).stream(), { headers: { 'content-type': 'text/event-stream' } });
  const event = (id: string) =>
    `id: ${id}\nevent: x\ndata: {"id": "${id}", "event": "x", "createdAt": 1}\n\n`;

  it('puts pieces together, and continues after the last event when the connection is lost', async () => {
    const [first, second] = [event('e1'), event('e2')];
    const { client, sent } = scripted([
      stream(': connected\n\n', first.slice(0, 9), first.slice(9), ': still here\n\n', second.slice(0, 20)),
      stream(second),
    ]);
    const seen: string[] = [];
    for await (const { id } of client.events({ type: 'x' })) if (seen.push(id) === 2) break;
    expect(seen).toEqual(['e1', 'e2']);
    expect(sent.map(({ url, headers }) => [url, headers.get('last-event-id')])).toEqual([
      [`${baseUrl}/api/events?type=x`, null],
      [`${baseUrl}/api/events?type=x`, 'e1'],
    ]);
  });

  it('ends with a refusal', async () => {
    const gone = () => Response.json({ errors: ['Gone.'], code: 'events.gone' }, { status: 410 });
    const { client } = scripted([stream(event('e1')), gone]);
    const read = async () => {
      for await (const _ of client.events());
    };
    await expect(read()).rejects.toMatchObject({ code: 'events.gone' });
  });

  it('says at once that nothing answers', async () => {
    const refused = () => {
      throw new TypeError('fetch failed');
    };
    await expect(scripted([refused]).client.events().next()).rejects.toThrow('fetch failed');
  });
});
