import { describe, expect, it } from 'vitest';
import { Metrics } from '../../core/base/metrics.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { parseExposition, type Sample } from '../kit/exposition.ts';
import { bootstrapKey, type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

async function text(w: World): Promise<string> {
  const answer = await w.app.handle(new Request('http://localhost:8080/metrics'));
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return await answer.text();
}

/** The value of the one sample with this name and these labels; 0 when there is none. */
async function read(w: World, name: string, labels: Record<string, string> = {}): Promise<number> {
  const found = parseExposition(await text(w)).filter((sample) => isOf(sample, name, labels));
  expect(found.length).toBeLessThanOrEqual(1);
  return found[0]?.value ?? 0;
}

function isOf(sample: Sample, name: string, labels: Record<string, string>): boolean {
  return (
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  );
}

describe('the text', () => {
  it('escapes help and labels', () => {
    const metrics = new Metrics();
    metrics.counter('a_total', 'One\\two\nthree').with({ x: 'q"\\\n' }).add();
    expect(metrics.text()).toBe(
      '# HELP a_total One\\\\two\\nthree\n# TYPE a_total counter\na_total{x="q\\"\\\\\\n"} 1\n',
    );
    expect(parseExposition(metrics.text())).toEqual([{ name: 'a_total', labels: { x: 'q"\\\n' }, value: 1 }]);
  });

  it('has cumulative buckets, whose bounds belong to them', () => {
    const metrics = new Metrics();
    const sizes = metrics.histogram('a_seconds', { help: 'x', buckets: [1, 2] }).with({});
    for (const size of [1, 1.5, 2, 3, -1]) sizes.observe(size);
    expect(parseExposition(metrics.text()).map(({ value }) => value)).toEqual([2, 4, 5, 7.5, 5]);
  });

  it('has no name twice', () => {
    const metrics = new Metrics();
    metrics.counter('a_total', 'x');
    expect(() => metrics.reading('a_total', { help: 'x', read: () => 0 })).toThrow('a_total');
  });

  it.each(['a 1', '# TYPE a counter\n# HELP a x\na{b=1} 1', '# HELP a x\n# TYPE a counter\na 1\na 2'])(
    'of another form would be noticed: %j',
    (wrong) => expect(() => parseExposition(`${wrong}\n`)).toThrow(),
  );
});

describe('the metrics', () => {
  it('tell of build, memory, uptime and the event loop', async () => {
    await using w = await world({ plugins });
    await w.advance('10s');
    expect(await read(w, 'millrace_build_info', { version: '0.1.0' })).toBe(1);
    expect(await read(w, 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
    expect(await read(w, 'millrace_uptime_seconds')).toBe(10);
    // Sampled in real time, which no test waits for.
    expect(await read(w, 'millrace_event_loop_delay_seconds_count')).toBeGreaterThanOrEqual(0);
  });

  it('count requests by route, method and class of status', async () => {
    await using w = await world({ plugins });
    const count = (labels: Record<string, string>) => read(w, 'millrace_http_requests_total', labels);
    const { id } = await w.given.stream();
    for (const path of [id, id, 'nobody', 'nobody-else']) await w.request('GET', `/api/stream/${path}`);
    await w.request('GET', '/api/stream', { key: null });
    await w.request('DELETE', `/api/stream/${id}`);
    const route = '/api/stream/:id';
    expect(await count({ route: '/api/stream', method: 'POST', status: '2xx' })).toBe(1);
    expect(await count({ route, method: 'GET', status: '2xx' })).toBe(2);
    expect(await count({ route, method: 'GET', status: '4xx' })).toBe(2);
    expect(await count({ route: '/api/stream', method: 'GET', status: '4xx' })).toBe(1);
    expect(await count({ route, method: 'DELETE', status: '2xx' })).toBe(1);
    expect(await read(w, 'millrace_http_request_duration_seconds_count', { route, method: 'GET' })).toBe(4);
  });

  it('have no more labels for a client who makes up paths and methods', async () => {
    await using w = await world({ plugins });
    const series = async () => parseExposition(await text(w)).length;
    const knock = async (number: number) => {
      for (const method of ['GET', 'PROPFIND', `WORD${number}`]) {
        for (const path of [
          `/x${number}`,
          `/hls/p${number}/index.m3u8`,
          `/api/stream/s${number}?q=${number}`,
        ])
          await w.app.handle(new Request(`http://localhost:8080${path}`, { method }));
      }
    };
    await text(w);
    await knock(0);
    const before = await series();
    for (let number = 1; number <= 50; number += 1) await knock(number);
    expect(await series()).toBe(before);
    const requests = parseExposition(await text(w)).filter(
      ({ name }) => name === 'millrace_http_requests_total',
    );
    const known = (w.app as unknown as { routes: { path: string }[] }).routes.map(({ path }) => path);
    for (const { labels } of requests) {
      expect([...known, 'none']).toContain(labels.route);
      expect(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other']).toContain(labels.method);
      expect(labels.status).toMatch(/^[1-5]xx$/);
    }
    const total = requests.reduce((sum, { value }) => sum + value, 0);
    expect(total).toBe(51 * 9 + 3);
    expect(requests.some(({ labels, value }) => labels.method === 'other' && value > 0)).toBe(true);
  });

  it('count steps, commits, events and what the media does', async () => {
    await using w = await world({ plugins });
    const steps = () => read(w, 'millrace_actor_steps_total', { type: 'broadcast', outcome: 'ok' });
    const stream = await w.given.stream();
    const before = await steps();
    expect(await read(w, 'millrace_events_total', { type: 'stream.started' })).toBe(0);
    const publish = await w.given.broadcast(stream);
    publish.progress({ bytes: 5000 });
    await w.settle();
    expect(await steps()).toBeGreaterThan(before);
    expect(await read(w, 'millrace_actor_commit_duration_seconds_count')).toBe(await steps());
    expect(await read(w, 'millrace_actors_hot')).toBe(1);
    expect(await read(w, 'millrace_events_total', { type: 'stream.started' })).toBe(1);
    expect(await read(w, 'millrace_events_total', { type: 'other' })).toBe(0);
    expect(await read(w, 'millrace_media_publishes')).toBe(1);
    expect(await read(w, 'millrace_media_outputs')).toBe(1);
    publish.end({ clean: false, bytes: 6000 });
    await w.settle();
    expect(await read(w, 'millrace_actor_timers')).toBeGreaterThan(0);
    expect(await read(w, 'millrace_media_publishes')).toBe(0);
    expect(await read(w, 'millrace_media_received_bytes_total')).toBe(6000);
    await w.advance('10m');
    expect(await read(w, 'millrace_media_outputs')).toBe(0);
  });

  it('hold no key, no stream key and no id', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const { body: token } = await w.request('POST', '/api/api-token', { body: { name: 'named' } });
    const { grant } = await w.given.broadcast(stream);
    await w.request('GET', `/api/stream/${stream.id}?cursor=${stream.streamKey}`, { key: token.key });
    await w.request('GET', `/api/session/${grant.sessionId}`);
    await w.request('GET', `/hls/${stream.playbackId}/index.m3u8`);
    await w.request('GET', `/${stream.streamKey}`);
    const all = await text(w);
    const { id, streamKey, playbackId, name } = stream;
    for (const secret of [id, streamKey, playbackId, name, token.id, token.key, grant.sessionId, grant.token])
      expect(all).not.toContain(secret);
    expect(all).not.toContain(bootstrapKey);
  });
});
