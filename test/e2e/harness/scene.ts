import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode, ffmpeg } from './encoders.ts';
import { startHookReceiver } from './hook-receiver.ts';
import { root, type Server, startServer } from './server.ts';
import { type Answer, upload } from './uploads.ts';
import { until } from './wait.ts';

/**
 * A server as its owner finds it on a busy day, for screenshots: broadcasts that are well, in trouble and over, films in
 * every state, webhooks and targets that work and fail. Beside it one without content, and one without the dashboard.
 */
export interface Scene extends AsyncDisposable {
  readonly servers: { readonly full: Server; readonly empty: Server; readonly bare: Server };
  /** Ids of what pages show. */
  readonly ids: Readonly<Record<string, string>>;
}

const film = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '50', '-b:v', '300k'];

export async function openScene(): Promise<Scene> {
  const end = new AsyncDisposableStack();
  try {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-scene-'));
    end.defer(() => rmSync(folder, { recursive: true }));
    const env = { MILLRACE_OUTBOUND__ALLOW: '["127.0.0.1/32", "127.0.0.2/32"]' };
    const plugins = { [join(root, 'test/kit/page-plugin.ts')]: {} };
    const servers = {
      full: end.use(await startServer({ env: { ...env, MILLRACE_PLUGINS: JSON.stringify(plugins) } })),
      empty: end.use(await startServer()),
      bare: end.use(await startServer({ env: { MILLRACE_PLUGINS: '{"dashboard": false}' } })),
    };
    const receiver = end.use(await startHookReceiver());
    const slow = await startSlowSite();
    end.defer(slow.close);
    const files = await makeFiles(folder);
    const ids = {
      ...(await fillStreams(servers.full, { files, end, urls: receiver.urls })),
      ...(await fillAssets(servers.full, { files, slow: slow.url })),
      ...(await fillKeys(servers.full)),
      ...(await fillAccounts(servers.full)),
    };
    const rest = end.move();
    return { servers, ids, [Symbol.asyncDispose]: () => rest.disposeAsync() };
  } catch (error) {
    await end.disposeAsync();
    throw error;
  }
}

type Files = Awaited<ReturnType<typeof makeFiles>>;

/** Encoded once: what is broadcast in a loop costs no processor. */
async function makeFiles(folder: string) {
  const at = (name: string) => join(folder, name);
  const lavfi = (picture: string) => ['-f', 'lavfi', '-i', picture];
  const sound = lavfi('sine=frequency=330:duration=24');
  const clip = ['-i', join(root, 'demo/clip.flv'), '-vf', 'scale=640:360'];
  await encode([...clip, ...film, '-g', '60', '-c:a', 'copy', at('well.flv')]);
  const rare = ['-g', '300', '-keyint_min', '300', '-sc_threshold', '0'];
  await encode([
    ...lavfi('testsrc2=size=640x360:rate=30:duration=20'),
    ...film,
    ...rare,
    '-an',
    at('ill.flv'),
  ]);
  const pictures = [
    'mandelbrot=size=640x360:rate=25,trim=duration=24',
    'gradients=size=640x360:rate=25:duration=24:speed=0.02:n=5',
    'life=size=640x360:rate=25:mold=10:ratio=0.1:death_color=#203040:life_color=#80c0e0,trim=duration=24',
  ];
  const films: string[] = [];
  for (const [index, picture] of pictures.entries()) {
    films.push(at(`film-${index}.mp4`));
    await encode([...lavfi(picture), ...sound, ...film, '-shortest', '-c:a', 'aac', at(`film-${index}.mp4`)]);
  }
  writeFileSync(at('notes.mp4'), 'This is no film.\n'.repeat(50));
  return { well: at('well.flv'), ill: at('ill.flv'), films, text: at('notes.mp4') };
}

/** Sends the beginning of a file and keeps the connection, so that an import stays under way. */
async function startSlowSite() {
  const http = createServer((request, response) => {
    if (request.url === '/gone.mp4') {
      response.writeHead(404).end('not here');
      return;
    }
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': 80_000_000 });
    const timer = setInterval(() => response.write(new Uint8Array(40_000)), 1000);
    response.write(new Uint8Array(30_000_000));
    response.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const close = () => {
    http.closeAllConnections();
    http.close();
  };
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, close };
}

async function fillStreams(
  server: Server,
  { files, end, urls }: { files: Files; end: AsyncDisposableStack; urls: Readonly<Record<string, string>> },
) {
  const { api } = server;
  const make = async (path: string, body: unknown): Promise<Answer> => {
    const answer = await api.request('POST', path, body);
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  for (const name of [
    'Rehearsal',
    'Evening news from the town hall, with the long name that somebody always chooses',
  ])
    await api.createStream({ name });
  const old = await api.createStream({ name: 'Old channel' });
  await api.patchStream(old.id, { suspended: true });

  const started = ['stream.started', 'stream.idle', 'recording.started', 'recording.ready', 'asset.ready'];
  const hook = await make('/api/webhook', { name: 'Studio', url: urls.ok, events: started });
  const failing = await make('/api/webhook', { name: 'Billing', url: urls['500'], events: started });
  await make('/api/webhook', { name: 'Archive', url: urls.ok, events: ['task.failed'] });

  const play = (file: string, key: string) =>
    ffmpeg('-re', '-stream_loop', '-1', '-i', file, '-c', 'copy', '-f', 'flv', server.ingestUrl(key));
  const isOn = (id: string) =>
    until('a stream on the air', async () => (await api.getStream(id)).isActive, { within: 20_000 });

  // One that is over: recorded, with a gap in its middle.
  const morning = await api.createStream({ name: 'Morning show', record: true, holdSeconds: 20 });
  for (const seconds of [25, 20]) {
    const encoder = play(files.well, morning.streamKey);
    await isOn(morning.id);
    await Bun.sleep(seconds * 1000);
    await encoder[Symbol.asyncDispose]();
    await Bun.sleep(6000);
  }
  await api.terminate(morning.id).catch(() => {});

  const mirror = await api.createStream({ name: 'Mirror of the launch party' });
  const targets = [
    { profile: 'source', spec: { name: 'Second studio', url: server.ingestUrl(mirror.streamKey) } },
    { profile: 'source', spec: { name: 'YouTube', url: server.ingestUrl('a-key-that-is-refused') } },
  ];
  const launch = await api.createStream({ name: 'Launch party', record: true, multistream: { targets } });
  const playbackPolicy = { type: 'signed', allowedOrigins: ['https://www.example.com'], allowNoOrigin: true };
  const ill = await api.createStream({ name: 'Field reporter', playbackPolicy });
  const silent = await api.createStream({ name: 'Town hall' });
  end.use(play(files.well, launch.streamKey));
  end.use(play(files.ill, ill.streamKey));
  await Promise.all([isOn(launch.id), isOn(ill.id)]);
  end.use(ffmpeg('-re', '-i', files.well, '-c', 'copy', '-f', 'flv', server.ingestUrl('wrong-key-9f2c')));
  end.use(viewers(server, launch.playbackId));
  end.use(viewers(server, ill.playbackId));
  const [session] = await api.listSessions(morning.id);
  return {
    stream: launch.id,
    playback: launch.playbackId,
    ill: ill.id,
    illPlayback: ill.playbackId,
    over: morning.id,
    overPlayback: morning.playbackId,
    session: session?.id ?? '',
    idle: silent.id,
    idlePlayback: silent.playbackId,
    webhook: hook.id,
    failing: failing.id,
  };
}

/** Three players that read the playlist. */
function viewers(server: Server, playbackId: string): AsyncDisposable {
  const url = server.playlistUrl(playbackId).replace('index', 'source');
  const read = (agent: string) =>
    fetch(url, { headers: { 'user-agent': agent } }).then(
      (answer) => answer.text(),
      () => undefined,
    );
  const timer = setInterval(() => void Promise.all(['one', 'two', 'three'].map(read)), 2000);
  return { [Symbol.asyncDispose]: async () => clearInterval(timer) };
}

async function fillAssets(server: Server, { files, slow }: { files: Files; slow: string }) {
  const { api } = server;
  const names = [
    'Harbour at dawn',
    'Colours of the valley, the long cut for the festival jury 2026',
    'Cells',
  ];
  const made: string[] = [];
  for (const [index, file] of files.films.entries()) {
    const { assetId } = await upload(server, file);
    await api.request('PATCH', `/api/asset/${assetId}`, { name: names[index] });
    made.push(assetId);
  }
  const { assetId: broken } = await upload(server, files.text);
  await api.request('PATCH', `/api/asset/${broken}`, { name: 'Notes.mp4' });
  await api.request('POST', '/api/asset/request-upload', { name: 'Interview, take 2' });
  const imported = await api.request('POST', '/api/asset/import', {
    ...{ name: 'Archive 1998', url: `${slow}/archive.mp4` },
  });
  const running = (await imported.json()) as Answer;
  const gone = await api.request('POST', '/api/asset/import', {
    ...{ name: 'Lost reel', url: `${slow}/gone.mp4` },
  });
  const failed = (await gone.json()) as Answer;
  return {
    asset: made[0] ?? '',
    assetPlayback: ((await (await api.request('GET', `/api/asset/${made[0]}`)).json()) as Answer).playbackId,
    broken,
    running: running.task.id,
    waiting: running.asset.id,
    task: failed.task.id,
  };
}

async function fillKeys(server: Server) {
  const bodies = [
    {
      name: 'Website player',
      access: {
        rules: [{ resources: ['asset', 'asset/*'], methods: ['get'] }],
        cors: { allowedOrigins: ['https://www.example.com', 'https://studio.example.com'] },
      },
    },
    { name: 'Encoder farm', access: { rules: [{ resources: ['stream', 'stream/*'] }] } },
    {
      name: 'Nightly export',
      access: { rules: [{ resources: ['asset/*', 'task', 'task/*'], methods: ['get', 'post'] }] },
    },
  ];
  let limited = '';
  for (const body of bodies) {
    const answer = (await (await server.api.request('POST', '/api/api-token', body)).json()) as Answer;
    if (limited === '') limited = answer.key;
  }
  return { limitedKey: limited };
}

/** Another account, which has limits of its own and has nearly reached one. */
async function fillAccounts(server: Server) {
  const make = async (path: string, body: unknown, key = server.key): Promise<Answer> => {
    const answer = await fetch(server.url + path, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    return answer.json();
  };
  const limits = { streams: 10, assets: 500, storedBytes: 20_000_000_000, broadcasts: 3 };
  const { id } = await make('/api/account', { name: 'Acme Films', limits });
  await make('/api/account', { name: 'Valley Radio', playbackPolicy: { type: 'signed' } });
  const { key } = await make('/api/api-token', { name: 'Acme', accountId: id });
  for (const name of ['Studio 1', 'Studio 2', 'Stage', 'Foyer', 'Roof', 'Gate', 'Lab', 'Yard', 'Club'])
    await make('/api/stream', { name }, key);
  for (const body of [
    { name: 'Website' },
    { name: 'Box office', jwksUrl: 'https://id.example.com/.well-known/jwks.json' },
  ])
    await make('/api/signing-key', body);
  return { otherKey: key };
}
