import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { importPKCS8, SignJWT } from 'jose';
import * as tus from 'tus-js-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { broadcast } from '../e2e/harness/ffmpeg.ts';
import { startFileServer } from '../e2e/harness/films.ts';
import { root, type Server, startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { kuboNode } from '../kit/kubo-node.ts';

/** The published clients of Livepeer Studio, unmodified, against a real server with the plugin `studio-compat`. */
const clients = join(root, 'test/clients/node_modules');
// biome-ignore lint/suspicious/noExplicitAny: the client's own validation is what is tested
const { Livepeer } = (await import(join(clients, 'livepeer/index.js'))) as any;
// biome-ignore lint/suspicious/noExplicitAny: as above
const { videonft } = (await import(join(clients, '@livepeer/video-nft/dist/index.cjs.js'))) as any;

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'millrace-livepeer-'));
const path = join(folder, 'film.mp4');
const secret = 'a secret of the receiver';
let server: Server;
let kubo: Awaited<ReturnType<typeof kuboNode>>;
// biome-ignore lint/suspicious/noExplicitAny: as above
let livepeer: any;

beforeAll(async () => {
  kubo = await kuboNode();
  const plugins = {
    'studio-compat': {},
    streams: { reconnectWindow: '2s', hold: '1s' },
    tasks: { ipfs: { driver: 'kubo', endpoint: kubo.url } },
  };
  server = await startServer({ env: { MILLRACE_PLUGINS: JSON.stringify(plugins) } });
  livepeer = new Livepeer({ serverURL: `${server.url}/studio/api`, apiKey: server.key });
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25:duration=3'];
  const sound = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=3'];
  const codecs = ['-pix_fmt', 'yuv420p', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac'];
  await run('ffmpeg', ['-v', 'error', '-y', ...picture, ...sound, ...codecs, path]);
}, 120_000);

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await kubo?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** What the client throws for a refusal. */
async function refused(call: Promise<unknown>): Promise<{ status: number; errors: string[] }> {
  const error = await call.then(
    () => expect.unreachable('the call was accepted'),
    // biome-ignore lint/suspicious/noExplicitAny: an SDKError
    (thrown: any) => thrown,
  );
  return { status: error.statusCode, ...JSON.parse(error.body || '{}') };
}

it('takes streams, with targets and tags, and shows them as the client validates them', async () => {
  const given = {
    ...{ name: 'Show', record: true, creatorId: 'user-7', userTags: { show: 'Friday' } },
    playbackPolicy: { type: 'public' },
    profiles: [{ name: '240p', width: 426, height: 240, bitrate: 250_000, fps: 0 }],
  };
  const { stream } = await livepeer.stream.create(given);
  expect(stream).toMatchObject({
    ...{ name: 'Show', record: true, isActive: false, creatorId: { type: 'unverified', value: 'user-7' } },
    ...{ userTags: { show: 'Friday' }, playbackPolicy: { type: 'public' } },
  });
  expect(Math.abs(stream.createdAt - Date.now())).toBeLessThan(60_000);
  const { multistreamTarget } = await livepeer.multistream.create({ name: 'T', url: 'rtmp://a.test/live/k' });
  const spec = { name: 'U', url: 'rtmp://b.test/live/k' };
  // Both are kept, although they are added at one time.
  await Promise.all([
    livepeer.stream.addMultistreamTarget({ profile: 'source', id: multistreamTarget.id }, stream.id),
    livepeer.stream.addMultistreamTarget({ profile: '240p', spec }, stream.id),
  ]);
  const targets = async () => (await livepeer.stream.get(stream.id)).stream.multistream.targets;
  expect((await targets()).map((target: { profile: string }) => target.profile)).toEqual(['source', '240p']);
  await livepeer.stream.removeMultistreamTarget(stream.id, multistreamTarget.id);
  expect(await targets()).toHaveLength(1);
  await livepeer.multistream.update({ url: 'rtmp://c.test/live/k', disabled: true }, multistreamTarget.id);
  expect((await livepeer.multistream.get(multistreamTarget.id)).multistreamTarget.disabled).toBe(true);
  expect((await livepeer.multistream.getAll()).data).toHaveLength(2);
  expect((await livepeer.multistream.delete(multistreamTarget.id)).statusCode).toBe(204);
  const changed = {
    name: 'Other',
    record: false,
    suspended: true,
    creatorId: { type: 'unverified', value: 'b' },
  };
  expect((await livepeer.stream.update(changed, stream.id)).statusCode).toBe(204);
  expect((await livepeer.stream.getAll('true')).data).toEqual([
    expect.objectContaining({
      ...{ id: stream.id, name: 'Other', record: false },
      ...{ suspended: true, creatorId: { type: 'unverified', value: 'b' } },
    }),
  ]);
  expect((await livepeer.stream.terminate(stream.id)).statusCode).toBe(204);
  expect((await livepeer.stream.getClips(stream.id)).data).toEqual([]);
  expect((await livepeer.stream.delete(stream.id)).statusCode).toBe(204);
  expect(await refused(livepeer.stream.get(stream.id))).toMatchObject({
    status: 404,
    errors: [expect.any(String)],
  });
});

it('takes a broadcast to a key that it made, shows session, recording and logs, and signs webhooks', async () => {
  const received: { signature: string; body: string }[] = [];
  const receiver = createServer((incoming, answer) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk) => {
      body += chunk;
    });
    incoming.on('end', () => {
      received.push({ signature: String(incoming.headers['livepeer-signature']), body });
      answer.end('thanks');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/in`;
    const events = ['stream.started', 'stream.idle', 'recording.ready', 'asset.ready'];
    const { webhook } = await livepeer.webhook.create({ name: 'W', url, events, sharedSecret: secret });
    expect((await livepeer.webhook.getAll()).data).toEqual([
      expect.objectContaining({ id: webhook.id, events }),
    ]);
    const { stream } = await livepeer.stream.create({ name: 'Live', record: true, profiles: [] });
    {
      await using _ = broadcast(server.ingestUrl(stream.streamKey));
      const playing = async () => (await livepeer.playback.get(stream.playbackId)).playbackInfo.meta;
      const { source } = await until(
        'the broadcast',
        async () => {
          const meta = await playing();
          return meta.live === 1 && meta;
        },
        { within: 30_000 },
      );
      const playlist = await fetch(source[0].url);
      expect([playlist.status, await playlist.text()]).toEqual([200, expect.stringContaining('#EXTM3U')]);
      await Bun.sleep(3000);
      const session = (await livepeer.session.getAll()).data[0];
      expect(session).toMatchObject({ parentId: stream.id, record: true });
    }
    const recorded = async () => (await livepeer.session.getRecorded(stream.id, true)).data[0];
    const session = await until(
      'the recording',
      async () => {
        const one = await recorded();
        return one?.recordingStatus === 'ready' && one;
      },
      { within: 60_000 },
    );
    expect((await livepeer.session.get(session.id)).session).toMatchObject({ mp4Url: session.mp4Url });
    expect((await livepeer.session.getClips(session.id)).data).toEqual([]);
    expect((await fetch(session.mp4Url)).status).toBe(200);
    expect((await livepeer.playback.get(session.id)).playbackInfo.type).toBe('recording');
    const assets = (await livepeer.asset.getAll()).data;
    expect(assets[0]).toMatchObject({ source: { type: 'recording', sessionId: session.id } });
    expect((await livepeer.task.getAll()).data[0]).toMatchObject({ status: { phase: 'completed' } });

    await until('the webhooks', () => received.length >= 4, { within: 20_000 });
    for (const { signature, body } of received) {
      const [, t, v1] = /^t=(\d{13}),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
      expect(v1).toBe(createHmac('sha256', secret).update(body).digest('hex'));
      expect(Math.abs(Number(t) - Date.now())).toBeLessThan(120_000);
    }
    const bodies = received.map(({ body }) => JSON.parse(body));
    expect(bodies.map(({ event }) => event).toSorted()).toEqual(events.toSorted());
    const started = bodies.find(({ event }) => event === 'stream.started');
    expect(started).toMatchObject({ webhookId: webhook.id, stream: { id: stream.id, isActive: true } });
    expect(started.stream.createdAt).toBe(stream.createdAt);
    const ready = bodies.find(({ event }) => event === 'asset.ready').payload;
    expect(ready).toMatchObject({ id: ready.asset.id, asset: { status: { phase: 'ready' } } });

    const { data: logs } = await livepeer.webhook.getLogs(webhook.id);
    expect(logs).toHaveLength(4);
    expect((await livepeer.webhook.getLog(webhook.id, logs[0].id)).webhookLog).toEqual(logs[0]);
    expect((await livepeer.webhook.resendLog(webhook.id, logs[0].id)).webhookLog.success).toBe(true);
    expect(received).toHaveLength(5);
    const other = { name: 'X', url, events: ['stream.idle'] };
    expect((await livepeer.webhook.update(other, webhook.id)).webhook).toMatchObject(other);
    expect((await livepeer.webhook.get(webhook.id)).webhook.status.lastTriggeredAt).toBeGreaterThan(0);
    expect((await livepeer.webhook.delete(webhook.id)).webhook.id).toBe(webhook.id);
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
});

it('takes an upload by tus, imports it again, and lets only tokens play what is private', async () => {
  const { data } = await livepeer.asset.create({ name: 'Film', creatorId: 'user-7', staticMp4: true });
  expect(data.asset).toMatchObject({ status: { phase: 'waiting' }, source: { type: 'directUpload' } });
  const film = readFileSync(path);
  await new Promise<void>((resolve, reject) => {
    const { tusEndpoint: endpoint } = data;
    new tus.Upload(film, {
      endpoint,
      chunkSize: 20_000,
      onError: reject,
      onSuccess: () => resolve(),
    }).start();
  });
  const { asset } = await livepeer.asset.get(data.asset.id);
  expect(asset).toMatchObject({ type: 'video', size: film.length, status: { phase: 'ready' } });
  expect((await livepeer.task.get(data.task.id)).task).toMatchObject({
    type: 'upload',
    status: { progress: 1 },
  });
  const play = async (url: string) => (await fetch(url)).status;
  expect(await play(asset.downloadUrl)).toBe(200);

  const files = await startFileServer(path);
  const imported = await livepeer.asset.createViaUrl({ name: 'Again', url: files.url });
  const { asset: copy, task } = imported.twoHundredAndOneApplicationJsonData;
  const ended = async () => {
    const { phase } = (await livepeer.task.get(task.id)).task.status;
    return phase === 'completed' || phase === 'failed';
  };
  await until('the import', ended, { within: 30_000 });
  files.close();

  const policy = { name: 'Private', playbackPolicy: { type: 'jwt' } };
  expect((await livepeer.asset.update(policy, asset.id)).asset).toMatchObject(policy);
  await until('the policy to hold', async () => (await play(asset.playbackUrl)) === 403, { within: 10_000 });
  // The client drops the private half of the key that it makes, also with Studio.
  const made = await fetch(`${server.url}/studio/api/access-control/signing-key`, {
    ...{ method: 'POST', headers: { authorization: `Bearer ${server.key}` }, body: '{"name":"K"}' },
  });
  const signingKey = (await made.json()) as { id: string; publicKey: string; privateKey: string };
  expect(Buffer.from(signingKey.publicKey, 'base64').toString()).toContain('BEGIN PUBLIC KEY');
  const { playbackInfo } = await livepeer.playback.get(asset.playbackId);
  expect(playbackInfo.meta).toMatchObject({ playbackPolicy: { type: 'jwt' } });
  const open = new Livepeer({ serverURL: `${server.url}/studio/api` });
  expect(await refused(open.playback.get(asset.playbackId))).toMatchObject({ status: 403 });
  const pem = Buffer.from(signingKey.privateKey, 'base64').toString();
  const token = await new SignJWT({ sub: asset.playbackId })
    .setProtectedHeader({ alg: 'ES256', kid: signingKey.id })
    .setExpirationTime('1h')
    .sign(await importPKCS8(pem, 'ES256'));
  expect(await play(`${asset.playbackUrl}?token=${token}`)).toBe(200);
  expect((await livepeer.accessControl.getAll()).data).toHaveLength(1);
  expect((await livepeer.accessControl.get(signingKey.id)).signingKey.publicKey).toBe(signingKey.publicKey);
  expect((await livepeer.accessControl.delete(signingKey.id)).statusCode).toBe(204);

  expect((await livepeer.asset.getAll()).data.map(({ id }: { id: string }) => id)).toContain(copy.id);
  expect((await livepeer.asset.delete(copy.id)).statusCode).toBe(204);
});

it('says of every other call why it is not possible', async () => {
  const { stream } = await livepeer.stream.create({ name: 'S' });
  const s3 = { type: 's3', endpoint: 'https://s3.test', bucket: 'b' };
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const room = 'r';
  const calls: Promise<unknown>[] = [
    livepeer.stream.startPull(stream.id),
    livepeer.stream.createClip({ playbackId: stream.playbackId, startTime: 1 }),
    livepeer.transcode.create({
      ...{ input: { url: 'https://a.test/x.mp4' }, storage: { ...s3, credentials } },
      outputs: { mp4: { path: '/x' } },
    }),
    livepeer.metrics.getUsage({}),
    livepeer.metrics.getViewership({}),
    livepeer.metrics.getRealtimeViewership(),
    livepeer.metrics.getPublicViewership('x'),
    livepeer.metrics.getCreatorViewership({ creatorId: 'x' }),
    livepeer.room.create(),
    livepeer.room.get(room),
    livepeer.room.delete(room),
    livepeer.room.createUser({ name: 'u' }, room),
    livepeer.room.getUser(room, 'u'),
    livepeer.room.updateUser({}, room, 'u'),
    livepeer.room.deleteUser(room, 'u'),
    livepeer.room.startEgress({ streamId: stream.id }, room),
    livepeer.room.stopEgress(room),
    livepeer.generate.llm({ prompt: 'x' }),
  ];
  for (const call of calls) {
    const { status, errors } = await refused(call);
    expect([status, errors]).toEqual([501, [expect.stringMatching(/^This server/)]]);
  }
  const { signingKey } = await livepeer.accessControl.create();
  expect(await refused(livepeer.accessControl.update({ name: 'K' }, signingKey.id))).toMatchObject({
    status: 501,
  });
  const webhookPolicy = {
    name: 'P',
    playbackPolicy: { type: 'webhook', webhookId: 'x', webhookContext: {} },
  };
  expect(await refused(livepeer.stream.create(webhookPolicy))).toMatchObject({
    ...{ status: 422, errors: [expect.stringContaining('playbackPolicy.type')] },
  });
  const pull = { name: 'P', pull: { source: 'https://a.test/x.flv' } };
  expect(await refused(livepeer.stream.create(pull))).toMatchObject({ status: 422 });
});

it('serves @livepeer/video-nft: it uploads, normalises as far as needed, and exports to IPFS', async () => {
  const { Api } = videonft.minter;
  const api = new Api({ auth: { apiKey: server.key }, endpoint: `${server.url}/studio` });
  const asset = await api.createAsset('NFT', createReadStream(path));
  expect(asset).toMatchObject({ name: 'NFT', status: { phase: 'ready' } });
  // So small a limit that it must be transcoded.
  const smaller = await api.nftNormalize(asset, undefined, 200_000);
  expect(smaller.size).toBeGreaterThan(0);
  const ipfs = await api.exportToIPFS(asset.id, { description: 'One of a kind' });
  expect(kubo.added.map(({ cid }) => cid)).toEqual([ipfs.videoFileCid, ipfs.nftMetadataCid]);
  expect(kubo.added[0]?.bytes.equals(readFileSync(path))).toBe(true);
  expect(JSON.parse(String(kubo.added[1]?.bytes)).description).toBe('One of a kind');
  const before = kubo.added.length;
  expect((await livepeer.asset.update({ storage: { ipfs: true } }, asset.id)).asset.id).toBe(asset.id);
  await until('the export', () => kubo.added.length > before, { within: 20_000 });
});
