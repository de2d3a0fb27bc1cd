import { describe, expect, it } from 'vitest';
import { folderOf } from '../../plugins/recordings/recording.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { scriptedTake } from '../kit/scripted-recorder.ts';
import { type World, world } from '../kit/world.ts';

const shipped = await allPlugins();
const shownAtStart = 'http://localhost:8080';
const plain = { addresses: { host: '127.0.0.2:9000' }, base: 'http://127.0.0.2:9000', rtmpHost: '127.0.0.2' };
const proxied = {
  addresses: {
    host: 'inner:8080',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'video.example.com',
  } as Record<string, string>,
  base: 'https://video.example.com',
  rtmpHost: 'video.example.com',
};

type Place = typeof proxied;

/** A deployment that has one of everything whose answer holds a URL, and a way to ask for it at one address. */
async function given({ addresses }: Pick<Place, 'addresses'>) {
  const w = await world({ plugins: shipped, trustedProxies: ['127.0.0.1/32'] });
  const ask = async (method: string, path: string, options: Parameters<World['request']>[2] = {}) => {
    const answer = await w.request(method, path, {
      ...options,
      headers: { ...addresses, ...options.headers },
    });
    const headers = ['link', 'location'].map((name) => answer.headers.get(name) ?? '');
    return { ...answer, text: `${JSON.stringify(answer.body)} ${headers.join(' ')}` };
  };
  const put = async (url: string, body: string) => {
    const sent = { method: 'PUT', body, headers: addresses, duplex: 'half' } as RequestInit;
    // As it gets here: over plain HTTP, from the proxy.
    const asked = Object.assign(new Request(here(url), sent), { peer: '127.0.0.1' });
    const answer = await w.app.handle(asked);
    const text = await answer.text();
    await w.settle();
    return { status: answer.status, text };
  };
  /** On the air, with a recording if it has one. */
  const broadcast = async (stream: { streamKey: string }) => {
    const publish = await w.given.broadcast(stream);
    const { sessionId } = publish.grant;
    w.recorder.has(sessionId, scriptedTake({ folder: folderOf(sessionId) }));
    return publish;
  };
  return { w, ask, put, broadcast };
}

function here(url: string): string {
  const { pathname, search } = new URL(url);
  return `http://localhost${pathname}${search}`;
}

/** All URLs in a text that name a server of ours, or could. */
function urlsIn(text: string): string[] {
  return text.match(/\b(?:https?|rtmps?):\/\/[^\s"'<>\\]+/g) ?? [];
}

describe.each([
  ['another address', plain as Place],
  ['a trusted proxy', proxied],
])('what is asked at %s', (_, place) => {
  it('answers URLs that work from there, and names no other address', async () => {
    const { w, ask, put, broadcast } = await given(place);
    await using _ = w;
    const texts: [string, string][] = [];
    const walk = async (method: string, path: string, options: Parameters<World['request']>[2] = {}) => {
      const answer = await ask(method, path, options);
      expect([path, answer.status < 300 ? 'fine' : answer.body]).toEqual([path, 'fine']);
      texts.push([`${method} ${path}`, answer.text]);
      return answer;
    };

    const stream = (await walk('POST', '/api/stream', { body: { name: 'On air', record: true } })).body;
    const before = await broadcast(stream);
    before.end({ clean: true });
    await w.advance('7m');
    const publish = await broadcast(stream);
    for (const id of [stream.id, publish.grant.sessionId, before.grant.sessionId])
      await walk('GET', `/api/stream/${id}`);
    await walk('GET', `/api/session/${before.grant.sessionId}`);
    for (const list of ['stream', `stream/${stream.id}/sessions`, 'session', 'asset', 'task'])
      await walk('GET', `/api/${list}`);

    const uploaded = (await walk('POST', '/api/asset/request-upload', { body: { name: 'Film' } })).body;
    const tus = await ask(
      'POST',
      new URL(uploaded.tusEndpoint).pathname + new URL(uploaded.tusEndpoint).search,
      {
        headers: { 'tus-resumable': '1.0.0', 'upload-length': '10' },
      },
    );
    expect(tus.status).toBe(201);
    texts.push(['tus', tus.text]);
    const accepted = await put(uploaded.url, 'a film of eight seconds');
    expect(accepted.status).toBe(200);
    texts.push(['PUT', accepted.text]);
    await walk('GET', `/api/asset/${uploaded.asset.id}`);
    await walk('PATCH', `/api/asset/${uploaded.asset.id}`, { body: { name: 'Film' } });

    const again = (await walk('POST', '/api/asset/request-upload', { body: { name: 'Late' } })).body;
    await walk('POST', `/api/task/${again.task.id}/cancel`);
    await w.settle();
    const retried = (await walk('POST', `/api/task/${again.task.id}/retry`)).body;
    expect(retried.params.upload.url).toContain('/upload/');
    await walk('POST', '/api/asset/import', { body: { url: 'https://films.invalid/a.mp4', name: 'Import' } });

    await walk('POST', '/api/webhook', {
      body: { name: 'w', url: 'https://w.invalid/', events: ['stream.idle'] },
    });
    await walk('POST', '/api/webhook', {
      body: { name: 'v', url: 'https://v.invalid/', events: ['stream.idle'] },
    });
    for (const name of ['a', 'b']) await walk('POST', '/api/api-token', { body: { name } });
    for (const name of ['a', 'b'])
      await walk('POST', '/api/multistream/target', { body: { name, url: `rtmp://${name}.invalid/live` } });
    for (const list of ['stream', 'session', 'asset', 'task', 'webhook', 'api-token', 'multistream/target']) {
      const { headers } = await walk('GET', `/api/${list}?limit=1`);
      expect([list, headers.get('link')]).toEqual([
        list,
        expect.stringContaining(`<${place.base}/api/${list}?`),
      ]);
    }
    for (const id of [stream.playbackId, before.grant.sessionId, uploaded.asset.id])
      await walk('GET', `/api/playback/${id}`);
    const ingest = (await walk('GET', '/api/ingest?first=false')).body;
    expect(ingest).toEqual([
      {
        ingest: `rtmp://${place.rtmpHost}:1935/live`,
        playback: `${place.base}/hls`,
        base: place.base,
      },
    ]);
    const { servers } = (await ask('GET', '/openapi.json', { key: null })).body;
    expect(servers).toEqual([{ url: place.base }]);

    const found = new Set<string>();
    for (const [what, text] of texts) {
      for (const url of urlsIn(text)) {
        if (/\.invalid\b/.test(new URL(url).hostname)) continue;
        expect([what, url.startsWith('rtmp') ? new URL(url).hostname : new URL(url).origin]).toEqual([
          what,
          url.startsWith('rtmp') ? place.rtmpHost : place.base,
        ]);
        if (!url.startsWith('rtmp')) found.add(new URL(url).pathname);
      }
    }
    // Of each kind at least one was seen.
    const kinds = [
      '/api/',
      '/upload/',
      '/recordings/',
      '/asset/',
      '/hls/',
      '/tus/',
      'thumbnail.jpg',
      'source.mp4',
    ];
    for (const kind of kinds)
      expect([kind, [...found].some((path) => path.includes(kind))]).toEqual([kind, true]);
    // Each leads to a route. Media is scripted here, so what it answers is another matter.
    for (const path of found) {
      // Upload URLs take no GET; clients append to the two others, which are bases.
      if (path.startsWith('/upload/') || path === '/hls' || path === '/') continue;
      const answer = await w.app.handle(new Request(`http://localhost${path}`, { headers: place.addresses }));
      expect([path, await answer.text()]).not.toEqual([path, expect.stringContaining('route.not_found')]);
    }
    publish.end({ clean: true });
  });

  it('says the same to an Idempotency-Key that comes again elsewhere, for that address', async () => {
    const { w, ask } = await given(place);
    await using _ = w;
    const options = { body: { name: place.base }, headers: { 'idempotency-key': 'once' } };
    const first = await w.request('POST', '/api/asset/request-upload', options);
    const second = await ask('POST', '/api/asset/request-upload', options);
    const third = await w.request('POST', '/api/asset/request-upload', options);
    expect(first.body.url.startsWith(`${shownAtStart}/upload/`)).toBe(true);
    expect(second.body.url).toBe(first.body.url.replace(shownAtStart, place.base));
    expect(second.body.tusEndpoint).toBe(first.body.tusEndpoint.replace(shownAtStart, place.base));
    // What the client itself sent stays as it is.
    expect(first.body.asset).toEqual(second.body.asset);
    expect(third.body).toEqual(first.body);
  });

  it('is told of in events at the address that the start shows', async () => {
    const { w, ask, broadcast } = await given(place);
    await using _ = w;
    const stream = (await ask('POST', '/api/stream', { body: { name: 'On air', record: true } })).body;
    (await broadcast(stream)).end({ clean: true });
    await w.advance('7m');
    const urls = urlsIn(JSON.stringify(await w.events()));
    expect(urls.length).toBeGreaterThan(0);
    expect(urls.filter((url) => !url.startsWith(`${shownAtStart}/`))).toEqual([]);
  });
});

it('a Host that is no plain host is not repeated in any answer', async () => {
  const { w, ask } = await given({ addresses: { host: 'evil.example/x"><script>' } });
  await using _ = w;
  await w.given.broadcast((await ask('POST', '/api/stream', { body: { name: 'a' } })).body);
  await w.given.stream();
  const { text } = await ask('GET', '/api/stream?limit=1');
  expect(text).toContain(`<${shownAtStart}/api/stream?`);
  expect(text).not.toContain('evil');
});
