import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../core/base/metrics.ts';
import { sweeping } from '../../../plugins/recordings/sweep.ts';
import webhooks from '../../../plugins/webhooks/index.ts';
import { scriptedRecorder } from '../../kit/scripted-recorder.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { useOf } from '../../kit/use.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { begun, disk, finished, idle, over, recordingWorld, takeOf } from './kit.ts';

describe('finishing', () => {
  it('that fails is tried again until it works, and the session says so meanwhile', async () => {
    await using w = await recordingWorld();
    const { stream, publish, sessionId } = await over(w, () => disk);
    await w.advance('1h');
    const meanwhile = await w.read(sessionId);
    expect(meanwhile).toMatchObject({ recordingStatus: 'waiting' });
    expect(meanwhile.issues).toEqual([
      'The recording is not finished yet; it is tried again. the disk does not answer',
    ]);
    expect((await w.read(stream.id)).issues).toEqual([]);
    const tries = w.recorder.finished.length;
    expect(tries).toBeGreaterThan(10);
    expect(tries).toBeLessThan(60);
    w.recorder.has(sessionId, takeOf(publish));
    await w.advance('10m');
    expect(await w.told()).toEqual([...begun, ...idle, ...finished]);
    expect(await w.read(sessionId)).toMatchObject({ recordingStatus: 'ready', issues: [] });
  });

  it('is given up after giveUp: no status, an issue, a failed asset, and no event', async () => {
    await using w = await recordingWorld({ config: { recordings: { giveUp: '1h' } } });
    const { stream, publish, sessionId } = await over(w, () => disk);
    await w.advance('59m');
    expect(await w.read(sessionId)).toMatchObject({ recordingStatus: 'waiting' });
    await w.advance('2m');
    const session = await w.read(sessionId);
    expect(session).not.toHaveProperty('recordingStatus');
    expect(session.issues[0]).toMatch(/^The recording failed\. /);
    expect(await w.read(stream.id)).not.toHaveProperty('recordingStatus');
    expect((await w.assetOf(publish))?.status).toBe('failed');
    expect(await w.told()).toEqual([...begun, ...idle, 'asset.created', 'asset.failed']);
    const tries = w.recorder.finished.length;
    await w.advance('2h');
    expect(w.recorder.finished.length).toBe(tries);
    await w.deleteAsset(publish);
    await w.settle();
    expect((await w.read(sessionId)).issues).toEqual([]);
  });

  it('has failed at once when there is nothing, and tells the asset as soon as it can be told', async () => {
    await using w = await recordingWorld();
    const { publish, sessionId } = await over(w, () => null);
    expect((await w.assetOf(publish)).statusMessage).toBe('Nothing of the broadcast was recorded.');
    expect((await w.read(sessionId)).issues).toEqual([
      'The recording failed. Nothing of the broadcast was recorded.',
    ]);
    expect(await w.told()).toEqual([...begun, ...idle, 'asset.created', 'asset.failed']);
  });

  it('waits for assets that do not answer', async () => {
    await using w = await recordingWorld();
    w.assets.isDown = true;
    const { sessionId } = await over(w, takeOf);
    await w.advance('10m');
    expect(await w.read(sessionId)).toMatchObject({ recordingStatus: 'waiting' });
    w.assets.isDown = false;
    await w.advance('10m');
    expect(await w.told()).toEqual([...begun, ...idle, ...finished]);
  });

  it('tells of gaps', async () => {
    await using w = await recordingWorld();
    const { sessionId } = await over(w, (publish) => takeOf(publish, { gaps: 2 }));
    expect((await w.read(sessionId)).issues).toEqual([
      'The recording has gaps: 2 times the server could not write down what was broadcast.',
    ]);
  });
});

describe('the deletion of the asset', () => {
  it('takes status and links from the session, and the stream shows its newest recording that is left', async () => {
    await using w = await recordingWorld();
    const { stream, publish: first } = await over(w, takeOf);
    const second = await w.onAir(stream);
    second.end({ clean: true });
    await w.advance('6m');
    await w.deleteAsset(second);
    await w.settle();
    const session = await w.read(second.grant.sessionId);
    expect(session).toMatchObject({ record: true, issues: [] });
    for (const name of ['recordingStatus', 'recordingUrl', 'mp4Url'])
      expect(session).not.toHaveProperty(name);
    expect((await w.read(stream.id)).recordingUrl).toContain(first.grant.sessionId);
    expect((await w.told()).at(-1)).toBe('asset.deleted');
  });

  it('while it is finished ends the recording, and nothing of it is left', async () => {
    await using w = await recordingWorld();
    const { publish, sessionId } = await over(w, () => disk);
    await w.deleteAsset(publish);
    const take = takeOf(publish);
    await w.blobs.put(take.video.key, new Uint8Array(5));
    w.recorder.has(sessionId, take);
    await w.advance('10m');
    expect(await w.told()).toEqual([...begun, ...idle, 'asset.created', 'asset.deleted']);
    expect(await w.read(sessionId)).not.toHaveProperty('recordingStatus');
    expect(await w.blobs.head(take.video.key)).toBeUndefined();
    expect(w.recorder.dropped).toEqual([sessionId]);
  });
});

describe('the sweep', () => {
  it('removes takes that belong to no recording in the making, and only when they are an hour old', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true, holdSeconds: 30 });
    const live = await w.onAir(stream);
    const { sessionId: done } = (await over(w, takeOf)).publish.grant;
    const state = { streamId: stream.id, isFed: false, isFinished: false, writtenAt: w.now(), bytes: 1 };
    const lost = crypto.randomUUID();
    w.recorder.shows([
      { ...state, sessionId: live.grant.sessionId },
      { ...state, sessionId: crypto.randomUUID(), isFed: true },
      { ...state, sessionId: lost },
      { ...state, sessionId: done },
    ]);
    const before = w.recorder.dropped.length;
    await w.advance('1h');
    expect(w.recorder.dropped.length).toBe(before);
    // Found by one sweep.
    await w.advance('11m');
    expect(w.recorder.dropped.length).toBe(before);
    await w.advance('10m');
    expect(new Set(w.recorder.dropped.slice(before))).toEqual(new Set([lost, done]));
    expect(w.lines.some((line) => line.includes(lost) && line.includes('was removed'))).toBe(true);
  });

  it('of a take that cannot be removed leaves the others no worse', async () => {
    await using w = await recordingWorld();
    const state = { streamId: 's', isFed: false, isFinished: false, writtenAt: w.now(), bytes: 1 };
    const [stuck, lost] = [crypto.randomUUID(), crypto.randomUUID()];
    w.recorder.keeps(stuck);
    w.recorder.shows([
      { ...state, sessionId: stuck },
      { ...state, sessionId: lost },
    ]);
    await w.advance('85m');
    expect(w.recorder.dropped).toContain(lost);
    expect(w.recorder.dropped).not.toContain(stuck);
    expect(w.lines.some((line) => line.includes(stuck) && line.includes('could not be removed'))).toBe(true);
  });

  it('keeps what it cannot be sure of', async () => {
    const recorder = scriptedRecorder();
    const clock = virtualClock({ start: 10 * 3_600_000, idle: async () => {} });
    const sessionId = crypto.randomUUID();
    const take = { sessionId, streamId: 's', isFed: false, isFinished: false, writtenAt: 0, bytes: 1 };
    recorder.shows([take]);
    const state = { isDown: true };
    const stop = sweeping({
      ...{
        use: useOf({ recorder }),
        clock,
        log: silentLog,
        metrics: new Metrics(),
        signal: new AbortController().signal,
      },
      resources: {
        get: async () => (state.isDown ? Promise.reject(new Error('the store does not answer')) : undefined),
      },
    } as never);
    await clock.advance(3_600_000);
    expect(recorder.dropped).toEqual([]);
    state.isDown = false;
    await clock.advance(3_600_000);
    expect(recorder.dropped).toContain(sessionId);
    await stop();
  });
});

describe('webhooks', () => {
  it('are sent what clients hear of, and cannot ask for the rest', async () => {
    await using w = await recordingWorld({ more: [webhooks] });
    const url = 'https://well.example/';
    w.outbound.answer(url, () => ({ status: 200 }));
    const body = { name: 'Hook', url, events: ['recording.started', 'recording.waiting', 'recording.ready'] };
    expect((await w.request('POST', '/api/webhook', { body })).status).toBe(201);
    for (const event of ['session.started', 'session.over']) {
      const refused = await w.request('POST', '/api/webhook', { body: { ...body, events: [event] } });
      expect(refused.status).toBe(422);
      expect(refused.body.errors[0]).not.toMatch(/events are .*session\./);
    }
    await over(w, takeOf);
    const sent = w.outbound.sent.map(({ request }) => JSON.parse(String(request.body)).event);
    expect(sent).toEqual(body.events);
  });
});
