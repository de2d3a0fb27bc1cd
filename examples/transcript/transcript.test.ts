import { allPlugins, type World, world } from 'millrace/testing';
import { expect, it } from 'vitest';
import transcript from './index.ts';

const plugins = [...(await allPlugins()), transcript];
const url = 'http://127.0.0.1:8000/v1/audio/transcriptions';
const vtt = 'WEBVTT\n\n00:00.000 --> 00:02.000\nGood evening.\n';

const u32 = (...values: number[]) =>
  Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes;
    }),
  );
const box = (type: string, ...parts: Uint8Array[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(body.length + 8), Buffer.from(type), body]);
};

/** A track of four samples of 10 bytes, in chunks of two at these places. */
function track(handler: string, places: readonly number[]): Buffer {
  const table = box(
    'stbl',
    box('stsc', u32(0, 1, 1, 2, 1)),
    box('stsz', u32(0, 10, 4)),
    box('stco', u32(0, places.length, ...places)),
  );
  return box('trak', box('mdia', box('hdlr', u32(0, 0), Buffer.from(handler)), box('minf', table)));
}

/** On the air, recorded and over. Its film has pictures (`p`) and, with `hasSound`, sound (`s`) between them. */
async function record(w: World, { hasSound = true } = {}) {
  const { playbackId, streamKey } = await w.given.stream({ record: true });
  const broadcast = await w.given.broadcast({ streamKey });
  const { sessionId, recording } = broadcast.grant;
  const folder = recording?.folder ?? '';
  const ftyp = box('ftyp', Buffer.from('isom'));
  const samples = Buffer.from(`${'p'.repeat(20)}${'s'.repeat(20)}${'p'.repeat(20)}${'s'.repeat(20)}`);
  const headOf = (base: number) =>
    Buffer.concat([
      ftyp,
      box(
        'moov',
        box('mvhd', u32(0)),
        track('vide', [base, base + 40]),
        ...(hasSound ? [track('soun', [base + 20, base + 60])] : []),
      ),
    ]);
  // The place of the samples depends on the length of the head alone.
  const head = headOf(headOf(0).length);
  const video = Buffer.concat([ftyp, samples]);
  await w.blobs.put(`${folder}/video.mp4`, video);
  await w.blobs.put(`${folder}/head.mp4`, head);
  w.recorder.has(sessionId, {
    video: { key: `${folder}/video.mp4`, size: video.length, md5: '', sha256: '' },
    head: { key: `${folder}/head.mp4`, size: head.length, from: ftyp.length, to: video.length },
    index: { key: `${folder}/index.bin`, size: 10 },
    spec: { format: 'mp4', duration: 4, bitrate: 2000, tracks: [] },
    ...{ startedAt: 0, gaps: 0 },
  });
  broadcast.end({ clean: true });
  await w.advance('10m');
  return { playbackId, assetId: folder.split('/')[1] ?? '' };
}

async function textOf(w: World, assetId: string) {
  const got = await w.blobs.get(`transcripts/${assetId}.vtt`);
  return got.outcome === 'ok' ? new Response(got.body as never).text() : got.outcome;
}

const told = async (w: World) => (await w.events()).filter(({ event }) => event.startsWith('transcript.'));

it('sends the sound of a recording, and stores what comes back', async () => {
  await using w = await world({ plugins, config: { transcript: { key: 'secret-key', model: 'large' } } });
  w.outbound.answer(url, () => ({ body: Buffer.from(vtt) }));
  const { assetId } = await record(w);
  expect(await textOf(w, assetId)).toBe(vtt);
  expect(await told(w)).toMatchObject([{ event: 'transcript.ready', payload: { assetId } }]);
  const { headers, body } = w.outbound.sent[0]?.request ?? {};
  expect(headers?.authorization).toBe('Bearer secret-key');
  const form = await new Response(body as Uint8Array<ArrayBuffer>, { headers: { ...headers } }).formData();
  expect([form.get('model'), form.get('language'), form.get('response_format')]).toEqual([
    'large',
    'en',
    'vtt',
  ]);
  const sound = await (form.get('file') as Blob).text();
  expect(sound.endsWith(`mdat${'s'.repeat(40)}`)).toBe(true);
  expect(w.lines.join()).not.toContain('secret-key');
  // It goes with the asset.
  expect((await w.request('DELETE', `/api/asset/${assetId}`)).status).toBe(204);
  await w.advance('1m');
  expect(await textOf(w, assetId)).toBe('absent');
});

it('tries again while the endpoint does not answer', async () => {
  await using w = await world({ plugins });
  let answer: object = { ok: false, reason: 'connect', message: 'nobody answers' };
  w.outbound.answer(url, () => answer as never);
  const { assetId } = await record(w);
  expect(await textOf(w, assetId)).toBe('absent');
  answer = { body: Buffer.from(vtt) };
  await w.advance('10m');
  expect(await textOf(w, assetId)).toBe(vtt);
});

it.each([
  ['a refusal', { status: 401 }, 'The endpoint answered 401.'],
  ['no WebVTT', { body: Buffer.from('{"text": "Good evening."}') }, 'The endpoint answered with no WebVTT.'],
])('says why there are no subtitles: %s', async (_, answer, problem) => {
  await using w = await world({ plugins });
  w.outbound.answer(url, () => answer);
  await record(w);
  expect(await told(w)).toMatchObject([{ event: 'transcript.failed', payload: { problem } }]);
  expect(w.outbound.sent).toHaveLength(1);
});

it('says that a recording has no sound', async () => {
  await using w = await world({ plugins });
  await record(w, { hasSound: false });
  expect(await told(w)).toMatchObject([{ payload: { problem: 'The recording has no sound.' } }]);
});
