import type { Decision, UploadQuestion } from 'millrace/plugin';
import { describe, expect, it, vi } from 'vitest';
import { allPlugins, anotherAccount } from '../../kit/all-plugins.ts';
import { patient } from '../../kit/patient.ts';
import { world } from '../../kit/world.ts';
import * as tus from '../tus/kit.ts';
import { blobsOf, film, get, put } from '../uploads/kit.ts';
import { counts, deciding, fail, hang } from './kit.ts';

const shipped = await allPlugins();
const importUrl = 'http://user:secret@films.example/friday.mp4?signature=hidden';

async function studio(upload: (question: UploadQuestion) => Decision | Promise<Decision>) {
  const { plugin, asked } = deciding('gate', { upload });
  const w = await world({ plugins: [...shipped, plugin] });
  w.outbound.answer('http://films.example/', () => ({ body: Buffer.from(film) }));
  const requested = async () => {
    const answer = await w.request('POST', '/api/asset/request-upload', { body: { name: 'Friday' } });
    expect(answer.status).toBe(200);
    return answer.body as { url: string; tusEndpoint: string; asset: { id: string }; task: { id: string } };
  };
  const reached = (id: string, phase: string) =>
    vi.waitUntil(async () => {
      await w.settle();
      const task = await get(w, `/api/task/${id}`);
      return task.status.phase === phase && task;
    }, patient);
  return { w, asked: asked.upload, requested, reached };
}

const tooLarge = 'Films above 360p are not taken here.';
/** Refuses what the scripted inspector finds in every file. */
const large = (question: UploadQuestion): Decision => {
  if (question.stage === 'request') return undefined;
  const heights = question.spec.tracks.map((track) => (track.type === 'video' ? (track.height ?? 0) : 0));
  return Math.max(...heights) >= 360 ? { refuse: tooLarge } : undefined;
};

describe('a plugin that decides about uploads', () => {
  it('refuses requests for them, and nothing is created', async () => {
    let isOpen = true;
    const { w, asked, requested } = await studio(() =>
      isOpen ? undefined : { refuse: 'No uploads on Sundays.' },
    );
    await using _ = w;
    const ready = await requested();
    expect((await put(w, ready.url)).status).toBe(200);
    const before = asked.length;
    isOpen = false;
    const profile = { name: '240p', width: 426, height: 240, bitrate: 300_000, fps: 0 };
    for (const [path, body] of [
      ['/api/asset/request-upload', { name: 'Friday' }],
      ['/api/asset/import', { url: importUrl }],
      [`/api/asset/${ready.asset.id}/transcode`, { profile }],
    ] as const) {
      const answer = await w.request('POST', path, { body, headers: { 'idempotency-key': path } });
      expect([path, answer.status, answer.body]).toEqual([
        ...[path, 403],
        { errors: ['No uploads on Sundays.'], code: 'upload.not_allowed' },
      ]);
    }
    expect((await w.request('GET', '/api/asset')).body).toHaveLength(1);
    expect((await w.request('GET', '/api/task')).body).toHaveLength(1);
    expect(w.outbound.sent).toEqual([]);
    const { asset } = ready;
    expect(asked.slice(before)).toMatchObject([
      { stage: 'request', name: 'Friday', source: { type: 'directUpload' } },
      { stage: 'request', name: 'friday.mp4', source: { type: 'url' } },
      { stage: 'request', source: { type: 'transcode', inputAssetId: asset.id } },
    ]);
    const text = JSON.stringify(asked) + w.lines.join('\n');
    expect([text.includes('secret@'), text.includes('hidden')]).toEqual([false, false]);
    // A refusal is not remembered for its Idempotency-Key.
    isOpen = true;
    const path = '/api/asset/request-upload';
    const again = await w.request('POST', path, {
      body: { name: 'Friday' },
      headers: { 'idempotency-key': path },
    });
    expect(again.status).toBe(200);
  });

  it('learns the size when a PUT or a tus upload begins, and refuses it before a byte is read', async () => {
    const { w, asked, requested } = await studio(({ size = 0 }) =>
      size > 10 ? { refuse: 'Too large.' } : undefined,
    );
    await using _ = w;
    const { url, tusEndpoint, asset, task } = await requested();
    const unread = new ReadableStream(
      { pull: () => expect.unreachable('a byte was read') },
      { highWaterMark: 0 },
    );
    const answer = await put(w, url, { body: unread, headers: { 'content-length': '11' } });
    expect([answer.status, answer.body]).toEqual([
      403,
      { errors: ['Too large.'], code: 'upload.not_allowed' },
    ]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const created = await tus.create(w, tusEndpoint);
    expect([created.status, created.body.code]).toEqual([403, 'upload.not_allowed']);
    expect(w.intake.partial.list()).toEqual([]);
    expect(asked).toMatchObject([
      { stage: 'request', assetId: asset.id },
      { stage: 'request', assetId: asset.id, size: 11 },
      { stage: 'request', assetId: asset.id, size: film.length },
    ]);
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('pending');
    // Another file is welcome.
    expect((await put(w, url, { body: 'small' })).status).toBe(200);
  });

  it.each(['PUT', 'tus'])(
    'refuses a file that came by %s and was inspected, as one that is no film',
    async (way) => {
      const { w, asked, requested } = await studio(large);
      await using _ = w;
      const { url, tusEndpoint, asset, task } = await requested();
      let answer: Awaited<ReturnType<typeof put>>;
      if (way === 'PUT') answer = await put(w, url);
      else answer = await tus.patch(w, await tus.begun(w, tusEndpoint), 0);
      expect([answer.status, answer.body]).toEqual([403, { errors: [tooLarge], code: 'upload.not_allowed' }]);
      expect(await get(w, `/api/asset/${asset.id}`)).toMatchObject({
        status: 'failed',
        statusMessage: tooLarge,
      });
      const { status } = await get(w, `/api/task/${task.id}`);
      expect(status).toMatchObject({ phase: 'failed', errorMessage: tooLarge });
      expect(await blobsOf(w, asset.id)).toEqual([]);
      expect(w.intake.partial.list()).toEqual([]);
      expect(asked.at(-1)).toMatchObject({
        ...{ stage: 'inspected', assetId: asset.id, name: 'Friday', source: { type: 'directUpload' } },
        ...{
          size: film.length,
          spec: { duration: 8, tracks: [{ width: 640, height: 360 }, { type: 'audio' }] },
        },
      });
      expect(w.lines.some((line) => line.includes('refused an upload') && line.includes(tooLarge))).toBe(
        true,
      );
    },
  );

  it('refuses imports and transcodes that were made, and their tasks say why', async () => {
    let isStrict = true;
    const { w, asked, requested, reached } = await studio((question) =>
      isStrict ? large(question) : undefined,
    );
    await using _ = w;
    const imported = (await w.request('POST', '/api/asset/import', { body: { url: importUrl } })).body;
    expect((await reached(imported.task.id, 'failed')).status.errorMessage).toBe(tooLarge);
    await w.settle();
    expect(await get(w, `/api/asset/${imported.asset.id}`)).toMatchObject({ statusMessage: tooLarge });
    expect(await blobsOf(w, imported.asset.id)).toEqual([]);
    expect(w.outbound.sent).toHaveLength(1);
    expect(asked.at(-1)).toMatchObject({ stage: 'inspected', source: { type: 'url' } });

    isStrict = false;
    const { url, asset } = await requested();
    expect((await put(w, url)).status).toBe(200);
    isStrict = true;
    const profile = { name: '240p', width: 426, height: 240, bitrate: 300_000, fps: 0 };
    const made = (await w.request('POST', `/api/asset/${asset.id}/transcode`, { body: { profile } })).body;
    await vi.waitUntil(() => w.settle().then(() => w.converter.asked.length > 0), patient);
    w.converter.asked[0].finish(film);
    expect((await reached(made.task.id, 'failed')).status.errorMessage).toBe(tooLarge);
    expect(asked.at(-1)).toMatchObject({ source: { type: 'transcode', inputAssetId: asset.id } });
    expect(await blobsOf(w, made.asset.id)).toEqual([]);
  });

  it('that fails keeps the upload open: the same file may be sent again', async () => {
    let isBroken = false;
    const { w, requested } = await studio(({ stage }) =>
      isBroken && stage === 'inspected' ? fail() : undefined,
    );
    await using _ = w;
    const { url, tusEndpoint, asset, task } = await requested();
    const byTus = await requested();
    isBroken = true;
    const answer = await put(w, url);
    expect([answer.status, answer.body.code]).toEqual([503, 'decision.unavailable']);
    expect((await get(w, `/api/asset/${asset.id}`)).status).toBe('waiting');
    expect((await get(w, `/api/task/${task.id}`)).status.phase).not.toBe('failed');
    expect(await blobsOf(w, asset.id)).toEqual([]);
    const upload = await tus.begun(w, byTus.tusEndpoint);
    expect((await tus.patch(w, upload, 0)).status).toBe(503);
    isBroken = false;
    // The bytes are here already.
    expect((await tus.head(w, upload)).status).toBe(200);
    expect((await get(w, `/api/asset/${byTus.asset.id}`)).status).toBe('ready');
    expect((await put(w, url)).status).toBe(200);
    expect((await tus.create(w, tusEndpoint)).body.code).toBe('upload.accepted');
  });

  it('that fails while an import is asked about lets it be tried again', async () => {
    let isBroken = true;
    const { w, reached } = await studio(({ stage }) =>
      isBroken && stage === 'inspected' ? fail() : undefined,
    );
    await using _ = w;
    const { task } = (await w.request('POST', '/api/asset/import', { body: { url: importUrl } })).body;
    await reached(task.id, 'waiting');
    isBroken = false;
    await w.advance('1m');
    await reached(task.id, 'completed');
  });

  it('that hangs for one account keeps no upload of others waiting', async () => {
    let slow = '';
    const { w, requested } = await studio(({ account }) => (account === slow ? hang() : undefined));
    await using _ = w;
    const other = await anotherAccount(w);
    slow = other.id;
    const body = { name: 'Theirs' };
    const theirs = w.app.handle(
      new Request('http://localhost:8080/api/asset/request-upload', {
        method: 'POST',
        headers: { authorization: `Bearer ${other.key}` },
        body: JSON.stringify(body),
      }),
    );
    expect((await put(w, (await requested()).url)).status).toBe(200);
    await w.advance('3s');
    expect((await theirs).status).toBe(503);
    expect(await counts(w)).toEqual({ 'gate upload allowed': 3, 'gate upload failed': 1 });
  });
});
