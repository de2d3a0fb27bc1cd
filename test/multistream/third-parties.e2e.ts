/** Broadcasts pushed on to servers of others, good and bad, all on one server of ours; at last what it gave away. */
import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NewStream } from '../e2e/harness/api.ts';
import { type Encoder, encode, publisher } from '../e2e/harness/encoders.ts';
import type { Events } from '../e2e/harness/events.ts';
import { complaints, probe } from '../e2e/harness/film-tools.ts';
import { type HookReceiver, startHookReceiver } from '../e2e/harness/hook-receiver.ts';
import { numbered, watch } from '../e2e/harness/numbered.ts';
import { proxyTo } from '../e2e/harness/proxy.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { certificates } from '../outbound/certificates.ts';
import { enhancedClip } from '../publisher/enhanced-clip.ts';
import { type FarSide, startFarSide } from './far-side.ts';
import { hasNginx, type Nginx, startNginx } from './nginx.ts';
import { checkReceived, missing, type Received } from './received.ts';
import { hasSrt, startSrtListener } from './srt-listener.ts';
import { type Pushed, plain, type Targets, targetsOf } from './targets.ts';

/** Addresses that nothing else has: whoever finds one in what the server printed knows where it is from. */
const places = {
  good: '127.0.0.71',
  dying: '127.0.0.72',
  far: '127.0.0.73',
  bad: '127.0.0.74',
  srt: '127.0.0.75',
  private: '10.71.72.73',
};
let attempts = 0;
/** Keys, in each URL: no line, answer, event or row may hold one. Of each attempt at a test its own. */
function secrets(): (name: string) => string {
  attempts += 1;
  const attempt = attempts;
  return (name) => `k3y-${name}-${attempt}-5ecr3t`;
}

const told = [
  'stream.started',
  'stream.idle',
  'multistream.connected',
  'multistream.error',
  'multistream.disconnected',
];

let server: Server;
let events: Events;
let targets: Targets;
let hooks: HookReceiver;
let good: Nginx;
let dying: Nginx;
let far: FarSide;
let folder: string;
/** Whole answers of the API about what the tests made. */
const answers: string[] = [];

describe.skipIf(!hasNginx)('multistream', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-multistream-'));
    await writeFile(join(folder, 'authority.pem'), certificates.authority);
    [good, dying, hooks] = await Promise.all([
      startNginx({ host: places.good }),
      startNginx({ host: places.dying }),
      startHookReceiver(),
    ]);
    far = startFarSide({ host: places.far });
    server = await startServer({
      env: {
        MILLRACE_LOG__LEVEL: 'debug',
        MILLRACE_PLUGINS__STREAMS__HOLD: '6s',
        MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '20s',
        NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
      },
    });
    events = await server.openEvents();
    targets = targetsOf(server, events);
    const hook = { name: 'all', url: hooks.urls.ok, events: [...told] };
    expect((await server.api.request('POST', '/api/webhook', hook)).status).toBe(201);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await Promise.all([good, dying, far, hooks].map((one) => one?.[Symbol.asyncDispose]()));
    await rm(folder, { recursive: true, force: true });
  });

  test.concurrent('good and bad servers on one stream: each is told of as it is, and none disturbs another', async () => {
    const secret = secrets();
    await using silent = startFarSide({ host: places.bad, behaviour: { kind: 'silent' } });
    await using refusing = startFarSide({ host: places.bad, behaviour: { kind: 'refuses' } });
    await using rejecting = startFarSide({ host: places.bad, behaviour: { kind: 'refusesConnect' } });
    await using dropping = startFarSide({ host: places.bad, behaviour: { kind: 'drops', afterMs: 8000 } });
    const nobody = await closedPort(places.bad);
    const made = async (name: string, url: string) => targets.create(name, { url });
    const party = {
      good: await made('good', good.url(secret('good'))),
      closed: await made('closed', good.refusingUrl(secret('closed'))),
      dying: await made('dying', dying.url(secret('dying'))),
      silent: await made('silent', silent.url(secret('silent'))),
      refusing: await made('refusing', refusing.url(secret('refusing'))),
      rejecting: await made('rejecting', rejecting.url(secret('rejecting'))),
      dropping: await made('dropping', dropping.url(secret('dropping'))),
      nobody: await made('nobody', `rtmp://${places.bad}:${nobody}/live/${secret('nobody')}`),
      unknown: await made('unknown', `rtmp://unknown-5ecr3t.invalid/live/${secret('unknown')}`),
      private: await made('private', `rtmp://${places.private}/live/${secret('private')}`),
    };
    const stream = await targets.createStream('third parties', Object.values(party));
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    await using viewer = await watch(server.playlistUrl(stream.playbackId));
    await targets.ends(party.good, ['connected']);

    await targets.ends(party.dying, ['connected']);
    await until('pictures there', () => dying.recordings(secret('dying')).length === 1, { within: 10_000 });
    await lasting(3000);
    await dying.kill();
    // The connection breaks, then nobody is there: two reasons.
    await targets.ends(party.dying, ['error', 'disconnected', 'error']);
    await dying.restart();
    await targets.ends(party.dying, ['connected']);

    const failing = ['closed', 'silent', 'refusing', 'rejecting', 'nobody', 'unknown', 'private'] as const;
    for (const name of failing) await targets.ends(party[name], ['error'], { within: 90_000 });
    await until(
      'three connections to be dropped',
      () => dropping.connections(secret('dropping')).length >= 3,
      {
        within: 90_000,
      },
    );
    // More attempts of those that fail: nothing more is told of them.
    await until('more attempts', () => refusing.connections().length >= 4, { within: 60_000 });
    await viewer.moves({ within: 10_000 });
    expect([encoder.ends, viewer.problems]).toEqual([[], []]);
    await encoder.stop();
    for (const name of ['good', 'dying'] as const) await targets.ends(party[name], ['disconnected']);
    await until(
      'all pushes to end',
      () => [refusing, dropping].every((one) => one.connections().every((c) => c.isClosed)),
      {
        within: 20_000,
      },
    );
    await targets.ends(party.dropping, ['disconnected']);

    const told = Object.fromEntries(Object.entries(party).map(([name, one]) => [name, targets.told(one)]));
    answers.push(JSON.stringify(told));
    console.log(told);
    const twice = dropping.connections(secret('dropping')).filter(({ heard }) => heard.length > 0);
    expect(Object.fromEntries(Object.entries(told).map(([name, one]) => [name, plain(one)]))).toEqual({
      good: ['connected', 'disconnected'],
      dying: ['connected', 'error', 'disconnected', 'error', 'connected', 'disconnected'],
      dropping: twice.flatMap((one) =>
        // The last may be ended by the broadcast and not by the server.
        one.end?.clean ? ['connected', 'disconnected'] : ['connected', 'error', 'disconnected'],
      ),
      ...Object.fromEntries(failing.map((name) => [name, ['error']])),
    });

    const [whole, ...others] = good.recordings(secret('good'));
    expect(others).toEqual([]);
    expectAll(await checkReceived(whole), encoder);
    const [before, after] = dying.recordings(secret('dying'));
    const { runs } = await checkReceived(before);
    expect(runs).toHaveLength(1);
    const again = await checkReceived(after);
    expectAll(again, encoder);
    expect(again.runs[0][0]).toBeGreaterThan(runs[0][1]);
    for (const { heard } of twice) expect((await checkReceived(heard)).runs).toHaveLength(1);
    await keep(stream, Object.values(party));
  }, 240_000);

  test.concurrent('targets come, change and go while live, and nothing else notices', async () => {
    const secret = secrets();
    const steady = await targets.create('steady', { url: good.url(secret('steady')) });
    const stream = await targets.createStream('changes', [steady]);
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    await using viewer = await watch(server.playlistUrl(stream.playbackId));
    await targets.ends(steady, ['connected']);

    const changing = await targets.create('changing', { url: far.url(secret('first')) });
    /** ms from the answer to what was asked until a server is asked, or left; and until the first key frame is there. */
    const took: Record<string, number> = {};
    const step = async (
      what: string,
      act: () => Promise<void>,
      effect: { isSo: () => boolean; hasMedia?: () => boolean },
    ) => {
      await act();
      const answered = performance.now();
      const since = () => Math.round(performance.now() - answered);
      await until(what, effect.isSo, { within: 15_000, every: 5 });
      took[what] = since();
      if (effect.hasMedia === undefined) return;
      await until(`media: ${what}`, effect.hasMedia, { within: 15_000, every: 5 });
      took[`${what}, media`] = since();
    };
    const first = () => far.connections(secret('first'));
    const second = () => far.connections(secret('second'));
    const runs = (list: ReturnType<typeof first>) => list.filter(({ heard }) => heard.length > 0).length;
    const open = (list: ReturnType<typeof first>) => list.filter(({ isClosed }) => !isClosed).length;

    await step('added', () => targets.set(stream, [steady, changing]), {
      isSo: () => first().length === 1,
      hasMedia: () => runs(first()) === 1,
    });
    await targets.ends(changing, ['connected']);
    await step('another url', () => targets.change(changing, { url: far.url(secret('second')) }), {
      isSo: () => second().length === 1 && open(first()) === 0,
      hasMedia: () => runs(second()) === 1,
    });
    await targets.ends(changing, ['disconnected', 'connected']);
    // Another name changes nothing but itself.
    await targets.change(changing, { name: 'renamed' });
    await step('disabled', () => targets.change(changing, { disabled: true }), {
      isSo: () => open(second()) === 0,
    });
    await targets.ends(changing, ['disconnected']);
    await step('enabled', () => targets.change(changing, { disabled: false }), {
      isSo: () => second().length === 2,
      hasMedia: () => runs(second()) === 2,
    });
    await targets.ends(changing, ['connected']);
    await step('removed', () => targets.set(stream, [steady]), { isSo: () => open(second()) === 0 });
    await targets.ends(changing, ['disconnected']);
    const silenced = { ...changing, videoOnly: true };
    await step('video only', () => targets.set(stream, [steady, silenced]), {
      isSo: () => second().length === 3,
      hasMedia: () => runs(second()) === 3,
    });
    await targets.ends(changing, ['connected']);
    await step('deleted', () => targets.delete(changing), { isSo: () => open(second()) === 0 });
    await targets.ends(changing, ['disconnected']);
    await viewer.moves({ within: 10_000 });
    expect([encoder.ends, viewer.problems]).toEqual([[], []]);
    await encoder.stop();
    await targets.ends(steady, ['disconnected']);

    console.log('ms from the answer to the effect:', took);
    expect(plain(targets.told(changing))).toEqual(Array(4).fill(['connected', 'disconnected']).flat());
    expect(targets.told(steady)).toEqual(['connected', 'disconnected']);
    const [whole, ...others] = good.recordings(secret('steady'));
    expect(others).toEqual([]);
    expectAll(await checkReceived(whole), encoder);
    expect([first().length, second().length]).toEqual([1, 3]);
    for (const [n, { heard, end }] of [...first(), ...second()].entries()) {
      expect(end).toMatchObject({ clean: true, by: 'encoder' });
      expect((await checkReceived(heard, { isVideoOnly: n === 3 })).runs).toHaveLength(1);
    }
    await keep(stream, [steady]);
  }, 120_000);

  test.concurrent('the encoder dies and comes back within hold: the pushes stay, and their time goes on', async () => {
    const secret = secrets();
    const pushed = [
      await targets.create('hold, nginx', { url: good.url(secret('hold-nginx')) }),
      await targets.create('hold, far side', { url: far.url(secret('hold-far')) }),
    ];
    const stream = await targets.createStream('hold', pushed);
    await using network = await proxyTo(server.rtmpPort);
    const through = server.ingestUrl(stream.streamKey).replace(`:${server.rtmpPort}/`, `:${network.port}/`);
    await using encoder = numbered(through);
    for (const one of pushed) await targets.ends(one, ['connected']);
    const heard = () => far.connections(secret('hold-far'))[0].heard.length;
    for (let round = 1; round <= 2; round += 1) {
      const before = heard();
      await until('two seconds of media', () => heard() > before + 150, { within: 20_000 });
      network.cut({ forMs: 3000 });
      await until('the encoder to be back', () => encoder.firsts.length === round + 1, { within: 20_000 });
    }
    const before = heard();
    await until('two seconds of media', () => heard() > before + 150, { within: 20_000 });
    await encoder.stop();
    for (const one of pushed) await targets.ends(one, ['disconnected']);
    for (const one of pushed) expect(targets.told(one)).toEqual(['connected', 'disconnected']);

    const [connection, ...more] = far.connections(secret('hold-far'));
    const [file, ...files] = good.recordings(secret('hold-nginx'));
    expect([more, files]).toEqual([[], []]);
    const { firsts, sent } = encoder;
    for (const received of [connection.heard, file]) {
      const { runs } = await checkReceived(received, { firsts });
      // What was on its way when the network was cut is gone; what came back is there from its first picture on.
      for (const first of firsts.slice(1))
        expect(runs.some(([from, to]) => from <= first && first <= to)).toBe(true);
      expect(runs.at(-1)?.[1]).toBe(sent - 1);
      expect(missing(runs)).toBeLessThan(2 * 60);
    }
    await keep(stream, pushed);
  }, 120_000);

  test.concurrent('H.265 and AV1 with Opus arrive as they were sent', async () => {
    const secret = secrets();
    const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=30'];
    const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'];
    const h265 = ['-c:v', 'libx265', '-preset', 'ultrafast', '-tag:v', 'hvc1', '-pix_fmt', 'yuv420p'];
    const keys = ['-x265-params', 'log-level=error:keyint=60:min-keyint=60:scenecut=0'];
    const av1 = ['-c:v', 'libsvtav1', '-preset', '12', '-g', '60', '-b:v', '300k'];
    const both = [...picture, ...sound, '-t', '4'];
    await encode([...both, ...h265, ...keys, '-c:a', 'aac', join(folder, 'hevc.mp4')]);
    await encode([...both, ...av1, '-c:a', 'libopus', join(folder, 'av1.mp4')]);
    for (const name of ['hevc', 'av1']) {
      const pushed = await targets.create(name, { url: far.url(secret(name)) });
      const stream = await targets.createStream(name, [pushed]);
      const clip = enhancedClip(await Bun.file(join(folder, `${name}.mp4`)).bytes());
      await using encoder: Encoder = await publisher(server.ingestUrl(stream.streamKey), { clip });
      await targets.ends(pushed, ['connected']);
      const [connection] = far.connections(secret(name));
      await until('media', () => connection.heard.length > 200, { within: 20_000 });
      expect(encoder.isRunning, encoder.log).toBe(true);
      await encoder[Symbol.asyncDispose]();
      await targets.ends(pushed, ['disconnected']);
      expect(targets.told(pushed)).toEqual(['connected', 'disconnected']);
      // Byte for byte, without a gap. This machine's ffmpeg may be too old to read such FLV.
      for (const [type, kind] of [
        [9, 'video'],
        [8, 'audio'],
      ] as const) {
        const sent = clip.tags.filter((tag) => tag.type === kind).map(({ body }) => hashOf(body));
        const got = connection.heard.filter((one) => one.type === type).map(({ body }) => hashOf(body));
        const header = hashOf((kind === 'video' ? clip.videoHeader : clip.audioHeader) ?? new Uint8Array());
        expect(got[0], kind).toBe(header);
        const media = got.slice(1);
        expect(media.length, kind).toBeGreaterThan(60);
        const from = sent.indexOf(media[0]);
        const expected = media.map((_, n) => sent[(from + n) % sent.length]);
        expect(media, kind).toEqual(expected);
        if (kind === 'video') expect(clip.tags.filter((tag) => tag.type === kind)[from]?.isKey).toBe(true);
      }
      await keep(stream, [pushed]);
    }
  }, 120_000);

  test.concurrent('RTMPS: a certificate that is trusted, and one that is not', async () => {
    const secret = secrets();
    const { good: cert, expired, key } = certificates;
    await using trusted = startFarSide({ host: '127.0.0.1', tls: { cert, key } });
    await using untrusted = startFarSide({ host: '127.0.0.1', tls: { cert: expired, key } });
    const yes = await targets.create('trusted', { url: trusted.url(secret('trusted')) });
    const no = await targets.create('untrusted', { url: untrusted.url(secret('untrusted')) });
    const stream = await targets.createStream('rtmps', [yes, no]);
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    await targets.ends(yes, ['connected']);
    await targets.ends(no, ['error']);
    const [connection] = trusted.connections(secret('trusted'));
    await until('three seconds of media', () => connection.heard.length > 220, { within: 20_000 });
    await encoder.stop();
    await targets.ends(yes, ['disconnected']);
    expect([targets.told(yes), plain(targets.told(no))]).toEqual([['connected', 'disconnected'], ['error']]);
    expectAll(await checkReceived(connection.heard), encoder);
    expect(untrusted.connections(secret('untrusted'))).toEqual([]);
    await keep(stream, [yes, no]);
  }, 120_000);

  test.skipIf(!hasSrt).concurrent(
    'SRT with a passphrase: what arrives is what was sent, and no program of ours shows the URL',
    async () => {
      const secret = secrets();
      const [port] = await findFreePorts(1);
      const file = join(folder, 'srt.ts');
      const passphrase = secret('passphrase');
      const listener = startSrtListener({ host: places.srt, port, passphrase, file });
      await using _ = listener;
      const url = `srt://${places.srt}:${port}?passphrase=${passphrase}&streamid=${secret('srt')}`;
      const pushed = await targets.create('srt', { url });
      const stream = await targets.createStream('srt', [pushed]);
      await using encoder = numbered(server.ingestUrl(stream.streamKey));
      await targets.ends(pushed, ['connected'], { within: 60_000 });
      expect(commandsBelow(server.pid)).toContain('ffmpeg');
      // The address that was checked is there, as it is in every list of connections; no more of the URL is.
      expect(commandsBelow(server.pid)).not.toMatch(/k3y-|5ecr3t/);
      const { sent } = encoder;
      await until('four seconds of media', () => encoder.sent > sent + 120, { within: 20_000 });
      await encoder.stop();
      await targets.ends(pushed, ['disconnected']);
      await listener.ended();
      expect(targets.told(pushed)).toEqual(['connected', 'disconnected']);
      const { streams } = await probe(file);
      const video = streams.find(({ codec_type }) => codec_type === 'video');
      expect(streams.map(({ codec_name }) => codec_name).toSorted()).toEqual(['aac', 'h264']);
      // SRT gives up what is too late; what ffmpeg and its listener read to find out what there is may be lost at the ends.
      const pictures = Number(video?.nb_read_frames);
      console.log(`SRT: ${pictures} of ${encoder.sent} pictures`);
      expect(pictures).toBeGreaterThan(encoder.sent - sent - 60);
      expect(pictures).toBeLessThanOrEqual(encoder.sent);
      expect(await complaints(file)).toBe('');
      await keep(stream, [pushed]);
    },
    120_000,
  );

  // Behind all the others.
  test('no URL of a target, nor a part of one, is in anything that this run gave away', {
    retry: 0,
    timeout: 60_000,
  }, async () => {
    for (const path of [
      '/api/stream',
      '/api/session',
      '/api/multistream/target',
      '/metrics',
      '/health/ready',
    ]) {
      const answer = await server.api.request('GET', path);
      answers.push(JSON.stringify([...answer.headers]), await answer.text());
    }
    const deliveries = () => hooks.received('ok').filter(({ body }) => body.includes('multistream.'));
    const told = new Set(
      events.seen.filter(({ event }) => event.startsWith('multistream.')).map(({ id }) => id),
    );
    await until('the webhooks', () => deliveries().length >= told.size, { within: 30_000 });
    await server.stop();
    const given: Record<string, string> = {
      printed: server.output,
      answered: answers.join('\n'),
      events: JSON.stringify(events.seen),
      webhooks: JSON.stringify(hooks.received('ok')),
      stored: rowsOf(join(server.dataDir, 'millrace.db')),
    };
    // What is searched is what was meant.
    for (const [where, part] of [
      ['printed', 'push'],
      ['answered', 'millrace_'],
      ['events', 'multistream.error'],
      ['webhooks', 'multistream.disconnected'],
      ['stored', 'multistream.connected'],
    ])
      expect(given[where], where).toContain(part);
    const parts = [
      'k3y-',
      '5ecr3t',
      ...Object.values(places),
      `:${good.port}`,
      `:${dying.port}`,
      `:${far.port}`,
    ];
    for (const [where, text] of Object.entries(given)) {
      for (const part of parts) {
        const at = text.indexOf(part);
        expect(at < 0 ? 'nowhere' : text.slice(Math.max(0, at - 300), at + 60), `${part}, ${where}`).toBe(
          'nowhere',
        );
      }
    }
  });
});

/** It began with a key frame, lacks nothing since, and has the last picture. */
function expectAll({ runs }: Received, { sent }: { sent: number }): void {
  expect(runs).toHaveLength(1);
  expect(runs[0][1]).toBe(sent - 1);
}

function hashOf(bytes: Uint8Array): string {
  return String(Bun.hash(bytes));
}

/** What the API says of a stream and its targets at its end. */
async function keep(stream: NewStream, pushed: readonly Pushed[]): Promise<void> {
  const paths = [
    `/api/stream/${stream.id}`,
    `/api/stream/${stream.id}/sessions`,
    `/api/stream/${stream.id}/health`,
    ...pushed.map(({ id }) => `/api/multistream/target/${id}`),
  ];
  for (const path of paths) answers.push(await (await server.api.request('GET', path)).text());
}

/** A port of this address on which nobody listens. */
async function closedPort(host: string): Promise<number> {
  const one = createServer();
  await new Promise<void>((resolve) => one.listen(0, host, resolve));
  const { port } = one.address() as { port: number };
  await new Promise((resolve) => one.close(resolve));
  return port;
}

/** Command lines of a process and its children, as everybody on the machine can read them. */
function commandsBelow(pid: number): string {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children].map((id) => readFileSync(`/proc/${id}/cmdline`, 'latin1')).join('\n');
}

/** Every row of a database but the targets', which are where their URLs belong. */
function rowsOf(file: string): string {
  const database = new Database(file, { readonly: true });
  try {
    const tables = database.query(`SELECT name FROM sqlite_master WHERE type = 'table'`).all() as {
      name: string;
    }[];
    return tables
      .flatMap(({ name }) => database.query(`SELECT * FROM "${name}"`).all() as Record<string, unknown>[])
      .filter((row) => row.kind !== 'multistream-target')
      .map((row) =>
        Object.values(row)
          .map((value) =>
            value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
          )
          .join('\t'),
      )
      .join('\n');
  } finally {
    database.close();
  }
}
