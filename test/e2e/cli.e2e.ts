import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findFreePort } from '../kit/free-ports.ts';
import { type CommandLine, commandLine } from './harness/command-line.ts';
import { type HookReceiver, startHookReceiver } from './harness/hook-receiver.ts';
import { root, type Server, startServer } from './harness/server.ts';
import { until } from './harness/wait.ts';

/** Enough that it is not sent before a person can interrupt it. */
const filmSize = 200_000_000;
let server: Server;
/** Logged in. */
let user: CommandLine;
let receiver: HookReceiver;
/** A film of 3 s. */
let film: string;
/** Of the server: it has a plugin from outside. */
let config: string;

beforeAll(async () => {
  user = commandLine();
  config = join(user.home, 'millrace.yaml');
  writeFileSync(
    config,
    `plugins:\n  ${join(root, 'examples/views')}: {}\n  tasks: { ipfs: { driver: local } }\n`,
  );
  [server, receiver] = await Promise.all([
    startServer({ env: { MILLRACE_CONFIG: config } }),
    startHookReceiver(),
  ]);
  film = join(user.home, 'film.mp4');
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=3'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=3'];
  const codecs = ['-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...picture, ...sound, ...codecs, film]);
  const login = await user
    .start(['login', '--server', `${server.url}/`], { input: `${server.key}\n` })
    .ended();
  expect(login).toMatchObject({ code: 0, out: expect.stringContaining(`Logged in to ${server.url}.`) });
  expect(login.out + login.error).not.toContain(server.key);
}, 60_000);

afterAll(async () => {
  await user?.[Symbol.asyncDispose]();
  await receiver?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
});

const json = async (...words: readonly string[]) => {
  const { code, out, error } = await user.run(...words, '--json');
  if (code !== 0) throw new Error(`millrace ${words.join(' ')}: ${code} ${error}`);
  return JSON.parse(out);
};

test.concurrent('login stores the key for its server alone, in a file that only the user can read', async () => {
  const file = join(user.home, '.config/millrace/credentials.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ server: server.url, key: server.key });
  const elsewhere = await user.run('stream', 'list', '--server', receiver.urls.ok?.replace('/ok', '') ?? '');
  expect(elsewhere).toMatchObject({ code: 77, error: expect.stringContaining('there is no API key for') });

  await using stranger = commandLine();
  const wrong = await stranger
    .start(['login', '--server', server.url], { input: 'no-key-of-this-server' })
    .ended();
  expect(wrong).toMatchObject({ code: 77, error: expect.stringContaining('so it was not stored') });
  const other = await stranger.run('login', '--key', 'x', '--server', receiver.urls['404'] ?? '');
  expect(other).toMatchObject({ code: 1, error: expect.stringContaining('not as a Millrace server does') });
  expect(readdirSync(stranger.home)).not.toContain('.config');
});

test.concurrent('a plugin of the config has a command of its own', async () => {
  const { playbackId } = await server.api.createStream({ name: 'Counted' });
  expect(await user.run('views', '--id', playbackId)).toMatchObject({
    code: 2,
    error: expect.stringContaining('no command views'),
  });
  const words = ['views', '--config', config];
  expect(await user.run(...words, '--id', playbackId)).toEqual({
    code: 0,
    out: '0 viewers, 0 s watched\n',
    error: '',
  });
  expect(await user.run(...words, '--id', 'nobody-has-it')).toMatchObject({
    code: 1,
    error: expect.stringContaining('no video of this playback id'),
  });
});

test.concurrent('exit codes say what is wrong: 69, 77, 78 and 2', async () => {
  await using other = commandLine();
  const nobody = `http://127.0.0.1:${await findFreePort()}`;
  const scoped = await server.api.request('POST', '/api/api-token', {
    name: 'reads tasks',
    access: { rules: [{ resources: ['task', 'stream', 'stream/*'], methods: ['get'] }] },
  });
  const { id } = await server.api.createStream({ name: 'Hidden key' });
  const { key } = (await scoped.json()) as { key: string };
  const started = (words: string[], env: Record<string, string>) => other.start(words, { env }).ended();
  const [away, wrong, scopedList, scopedCreate, hidden, badUrl] = await Promise.all([
    started(['stream', 'list'], { MILLRACE_URL: nobody, MILLRACE_KEY: 'k' }),
    started(['stream', 'list'], { MILLRACE_URL: server.url, MILLRACE_KEY: 'k' }),
    started(['task', 'list'], { MILLRACE_URL: server.url, MILLRACE_KEY: key }),
    started(['stream', 'create', 'x'], { MILLRACE_URL: server.url, MILLRACE_KEY: key }),
    started(['stream', 'key', id], { MILLRACE_URL: server.url, MILLRACE_KEY: key }),
    started(['stream', 'list'], { MILLRACE_URL: 'nonsense', MILLRACE_KEY: 'k' }),
  ]);
  expect(away).toMatchObject({
    code: 69,
    out: '',
    error: expect.stringMatching(/^millrace stream list: the server at .* cannot be reached .*\n$/),
  });
  expect(wrong).toMatchObject({ code: 77, error: expect.stringContaining('does not accept the API key') });
  expect(scopedList.code).toBe(0);
  expect(scopedCreate).toMatchObject({ code: 77, error: expect.stringContaining('may not do this') });
  expect(hidden).toMatchObject({ code: 77, out: '', error: expect.stringContaining('does not show it') });
  expect(badUrl).toMatchObject({ code: 78, error: expect.stringContaining('MILLRACE_URL: expected a URL') });
  expect(await user.run('stream', 'show', 'no-such-stream')).toMatchObject({
    code: 1,
    error: expect.stringContaining('there is no stream'),
  });
  expect(await user.run('push')).toMatchObject({
    code: 2,
    error: expect.stringContaining('either a file or --test-pattern'),
  });
});

test.concurrent('streams: create, list, show, key', async () => {
  const created = await json('stream', 'create', 'Town hall', '--record');
  expect(created).toMatchObject({ name: 'Town hall', record: true });
  expect((await json('stream', 'list')).map(({ id }: { id: string }) => id)).toContain(created.id);
  const shown = await user.run('stream', 'show', 'Town hall');
  expect(shown.out).toContain(`Id:         ${created.id}\nState:      off the air\n`);
  expect(shown.out).not.toContain(created.streamKey);
  expect(await json('stream', 'key', created.id)).toMatchObject({ streamKey: created.streamKey });
  const rotated = await json('stream', 'key', 'Town hall', '--rotate');
  expect(rotated.streamKey).not.toBe(created.streamKey);
  expect((await user.run('stream', 'key', created.id)).out).toContain(`Key:     ${rotated.streamKey}\n`);
});

test.concurrent('push broadcasts a test pattern; watch, events and webhook listen follow it', async () => {
  const { id } = await json('stream', 'create', 'Followed');
  const secret = `whsec_${Buffer.from('a secret of twenty-four').toString('base64')}`;
  const forward = receiver.urls.ok ?? '';
  const events = user.start(['events', '--follow', '--stream', 'Followed', '--json']);
  const next = user.start(['events', '--type', 'stream.started', '--stream', id]);
  const hooks = user.start(['webhook', 'listen', '--forward', forward, '--secret', secret, '--stream', id]);
  const watch = user.start(['stream', 'watch', 'Followed', '--json']);
  await Promise.all([events, next, hooks].map((one) => one.says('Connected to')));

  const push = user.start(['push', '--test-pattern', '--stream', 'Followed']);
  await push.says('On the air.', { within: 30_000 });
  expect((await server.api.getStream(id)).isActive).toBe(true);
  await next
    .ended()
    .then((ended) =>
      expect(ended).toMatchObject({ code: 0, out: expect.stringContaining('stream.started') }),
    );
  await until('it to be watched', () => watch.lines.some(({ isActive }) => isActive), { within: 5000 });
  expect(await push.interrupt()).toMatchObject({
    code: 0,
    out: expect.stringContaining('The broadcast has ended.'),
  });
  await until('the end', () => events.lines.some(({ event }) => event === 'stream.idle'), { within: 20_000 });
  await until('its webhook', () => hooks.out.includes('stream.idle  200'), { within: 10_000 });

  for (const running of [events, hooks, watch]) expect((await running.interrupt()).code).toBe(0);
  expect(watch.out).not.toContain('streamKey');
  const received = receiver.received('ok');
  expect(received.map(({ body }) => JSON.parse(body).id)).toEqual(events.lines.map(({ id }) => id));
  for (const { headers, body } of received)
    expect(new Webhook(secret).verify(body, headers)).toMatchObject({ stream: { id } });
  const [first] = received;
  expect(() => new Webhook(secret).verify(`${first?.body} `, first?.headers ?? {})).toThrow();
});

test.concurrent('push broadcasts a film until it is over; without ffmpeg the test pattern is the clip of the demo', async () => {
  const whole = user.start(['push', film, '--json']);
  const { code } = await whole.ended();
  expect([code, whole.lines.map(({ state }) => state)]).toEqual([
    0,
    expect.arrayContaining(['starting', 'ended']),
  ]);
  const [stream] = await json('stream', 'list', '--limit', '100').then((all) =>
    all.filter(({ name }: { name: string }) => name === 'film.mp4'),
  );
  expect((await server.api.listSessions(stream.id)).length).toBe(1);

  const without = { PATH: '/nonexistent' };
  expect(await user.start(['push', film], { env: without }).ended()).toMatchObject({
    code: 1,
    error: expect.stringContaining('ffmpeg is not on the PATH'),
  });
  const clip = user.start(['push', '--test-pattern'], { env: without });
  await clip.says('On the air.', { within: 30_000 });
  expect((await clip.interrupt()).code).toBe(0);
});

test.concurrent('an upload that is interrupted continues, and is one asset with the same bytes', async () => {
  const large = join(user.home, 'large.mp4');
  const head = Buffer.alloc(8);
  const bytes = readFileSync(film);
  head.writeUInt32BE(filmSize - bytes.length);
  head.write('free', 4);
  writeFileSync(large, Buffer.concat([bytes, head]));
  truncateSync(large, filmSize);

  const first = user.start(['upload', large]);
  await first.says(/[1-9]\d %/, { within: 60_000 });
  const cut = await first.interrupt();
  expect(cut).toMatchObject({
    code: 1,
    out: '',
    error: expect.stringMatching(/interrupted at \d+ %\. Give the same command again/),
  });
  const second = user.start(['upload', large, '--json']);
  expect((await second.ended()).code).toBe(0);
  expect(Number(/(\d+) %/.exec(second.error)?.[1])).toBeGreaterThanOrEqual(10);
  const [{ asset }] = second.lines;
  expect(asset).toMatchObject({ name: 'large.mp4', status: 'ready', size: filmSize });
  const sha256 = createHash('sha256').update(readFileSync(large)).digest('hex');
  expect(asset.hash).toContainEqual({ algorithm: 'sha256', hash: sha256 });
  const assets = (await (await server.api.request('GET', '/api/asset')).json()) as { name: string }[];
  expect(assets.filter(({ name }) => name === 'large.mp4')).toHaveLength(1);
  expect(readdirSync(join(user.home, '.config/millrace/uploads'))).toEqual([]);

  const noFilm = join(user.home, 'notes.mp4');
  writeFileSync(noFilm, 'These are notes.');
  expect(await user.run('upload', noFilm)).toMatchObject({ code: 1, out: '' });
  expect(await user.run('upload', join(user.home, 'none.mp4'))).toMatchObject({ code: 2 });
});

test.concurrent('import, export and the tasks of both', async () => {
  let taken: { method: string; name: string | null; size: number } | undefined;
  using place = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    async fetch(request) {
      if (request.method === 'GET') return new Response(Bun.file(film));
      const { size } = await request.blob();
      taken = { method: request.method, name: request.headers.get('x-name'), size };
      return new Response();
    },
  });
  const { asset, task } = await json('import', `${place.url}clip.mp4`, '--name', 'Fetched', '--follow');
  expect([asset.name, asset.status, task.status.phase]).toEqual(['Fetched', 'ready', 'completed']);
  const sent = await json(
    'export',
    asset.id,
    '--url',
    `${place.url}put`,
    '--method',
    'POST',
    '--header',
    'x-name: a film',
  );
  expect((await user.run('task', 'follow', sent.task.id)).out).toContain('State:     completed\n');
  expect(taken).toEqual({ method: 'POST', name: 'a film', size: asset.size });
  const ipfs = await json('export', asset.id, '--ipfs', '--follow');
  expect((await json('task', 'show', ipfs.task.id)).output.export.ipfs.videoFileCid).toMatch(/^baf/);
  expect((await json('task', 'list')).map(({ id }: { id: string }) => id)).toEqual(
    expect.arrayContaining([task.id, sent.task.id]),
  );

  const failed = await json(
    'export',
    asset.id,
    '--url',
    `http://127.0.0.2:${new URL(receiver.urls['404'] ?? '').port}/404`,
  );
  expect(await user.run('task', 'follow', failed.task.id)).toMatchObject({
    code: 1,
    error: expect.stringContaining('the task failed: '),
  });
});

test.concurrent('doctor looks at the machine and the server; demo finds the server', async () => {
  const config = join(user.home, 'config.json');
  const port = Number(new URL(server.url).port);
  const host = '127.0.0.1';
  writeFileSync(
    config,
    JSON.stringify({
      http: { host, port },
      rtmp: { host, port: server.rtmpPort },
      dataDir: user.home,
      bootstrapKey: server.key,
    }),
  );
  const fine = await user.run('doctor', '--config', config);
  expect(fine.code, fine.out).toBe(0);
  for (const line of [
    `ok    port      ${port} (http.port) is in use, and a Millrace server runs here\n`,
    `ok    server    ${server.url} is ready\n`,
    'ok    key       the server accepts the API key\n',
  ])
    expect(fine.out).toContain(line);
  const demo = user.start(['demo', '--config', config]);
  await demo.says(`Watch  ${server.url}/watch/`, { within: 30_000 });
  expect(await demo.interrupt()).toMatchObject({ code: 0, out: expect.stringContaining('Stopped.') });
});
