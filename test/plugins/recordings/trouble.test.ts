import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../core/base/metrics.ts';
import type { FinishedRecording } from '../../../core/ports/recorder.ts';
import { taskIdOf } from '../../../plugins/recordings/finish-task.ts';
import { folderOf } from '../../../plugins/recordings/recording.ts';
import { sweeping } from '../../../plugins/recordings/sweep.ts';
import webhooks from '../../../plugins/webhooks/index.ts';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { scriptedRecorder, scriptedTake } from '../../kit/scripted-recorder.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { useOf } from '../../kit/use.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { type RecordingWorld, recordingPlugins, recordingWorld } from './kit.ts';

const begun = ['stream.started', 'recording.started'];
const idle = ['stream.idle', 'recording.waiting'];
const finished = ['asset.created', 'asset.ready', 'recording.ready'];
const disk = new Error('the disk does not answer');
const takeOf = ({ grant }: ScriptedPublish, more: { gaps?: number } = {}) =>
  scriptedTake({ folder: folderOf(grant.sessionId), ...more });

/** A recorded session that is over; its take is what `has` says. */
async function over(w: RecordingWorld, has: (publish: ScriptedPublish) => FinishedRecording | Error | null) {
  const stream = await w.given.stream({ record: true });
  const publish = await w.onAir(stream);
  w.recorder.has(publish.grant.sessionId, has(publish));
  publish.end({ clean: true });
  await w.advance('6m');
  return { stream, publish, sessionId: publish.grant.sessionId };
}

describe('a restart', () => {
  it.each([
    ['while it records', '0s', '1s'],
    ['while it is held', '5s', '1s'],
    ['in the window', '2m', '1s'],
    ['over the end of the window', '2m', '10m'],
    ['while it is ready', '10m', '1m'],
  ])('%s changes nothing of what is told', async (_, after, downFor) => {
    await using w = await recordingWorld({ durable: true });
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    if (after !== '0s') publish.end({ clean: after === '2m' });
    await w.advance(after);
    await w.crash({ downFor });
    await w.advance('10m');
    expect(await w.told()).toEqual([...begun, ...idle, ...finished]);
    expect(await w.read(publish.grant.sessionId)).toMatchObject({ recordingStatus: 'ready', issues: [] });
  });

  it('in the middle of finishing does it again, and tells of it once', async () => {
    await using w = await recordingWorld({ durable: true });
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    const { sessionId } = publish.grant;
    w.recorder.has(sessionId, new Promise<FinishedRecording>(() => {}));
    publish.end({ clean: true });
    await w.advance('7m');
    expect((await w.assetOf(publish))?.status).toBe('waiting');
    w.recorder.has(sessionId, takeOf(publish));
    await w.crash({ downFor: '5s' });
    await w.advance('1m');
    expect(await w.told()).toEqual([...begun, ...idle, ...finished]);
    expect(w.recorder.dropped).toEqual([sessionId]);
  });

  it('between the asset and its own step finds the asset ready, and does not need the take any more', async () => {
    await using w = await recordingWorld({ durable: true });
    const { publish, sessionId } = await over(w, () => disk);
    expect(await w.told()).toEqual([...begun, ...idle, 'asset.created']);
    // As a process leaves it that dies after the one commit and before the other.
    const { video, head, index, spec } = takeOf(publish);
    await w.assets.contract.ready((await w.assetOf(publish)).id, { video, head, index, spec });
    w.recorder.has(sessionId, null);
    await w.crash({ downFor: '1s' });
    await w.advance('1m');
    expect(await w.told()).toEqual([...begun, ...idle, ...finished]);
    expect((await w.fileOf(publish))?.video.key).toBe(video.key);
  });
});

describe('a plugin that was off', () => {
  it.each([
    ['while it was recorded', false],
    ['while its recording waited', true],
  ])('when a session came to its end %s finishes the recording when it is on again', async (_, isIdle) => {
    await using w = await recordingWorld({ durable: true });
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    const { sessionId } = publish.grant;
    if (isIdle) publish.end({ clean: true });
    await w.advance('10s');
    const all = recordingPlugins().plugins;
    await w.crash({ downFor: '1s', plugins: all.filter(({ id }) => id !== 'recordings') });
    await w.advance('30m');
    await w.crash({ downFor: '1s', plugins: all });
    await w.advance('1m');
    const told = await w.told();
    for (const event of [...begun, ...idle, ...finished]) {
      expect(told.filter((one) => one === event)).toHaveLength(1);
    }
    expect(told.slice(-finished.length)).toEqual(finished);
    expect(await w.read(sessionId)).toMatchObject({ recordingStatus: 'ready', issues: [] });
    expect(w.recorder.dropped).toEqual([sessionId]);
  });

  it('when an asset was deleted lets go of its recording when it is on again', async () => {
    await using w = await recordingWorld({ durable: true });
    const { publish, sessionId } = await over(w, takeOf);
    const kept = await over(w, takeOf);
    expect(await w.read(sessionId)).toMatchObject({ recordingStatus: 'ready' });
    const all = recordingPlugins().plugins;
    await w.crash({ downFor: '1s', plugins: all.filter(({ id }) => id !== 'recordings') });
    await w.deleteAsset(publish);
    await w.advance('1m');
    await w.crash({ downFor: '1s', plugins: all });
    await w.advance('1m');
    const session = await w.read(sessionId);
    expect(session).not.toHaveProperty('recordingStatus');
    expect(session).not.toHaveProperty('recordingUrl');
    expect(session).not.toHaveProperty('mp4Url');
    expect(await w.read(kept.sessionId)).toMatchObject({ recordingStatus: 'ready' });
  });

  it('leaves a session alone that may come back', async () => {
    await using w = await recordingWorld({ durable: true });
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    publish.end({ clean: true });
    await w.advance('4m');
    const all = recordingPlugins().plugins;
    await w.crash({ downFor: '1s', plugins: all.filter(({ id }) => id !== 'recordings') });
    await w.crash({ downFor: '1s', plugins: all });
    await w.advance('30s');
    expect(await w.told()).toEqual([...begun, ...idle]);
    await w.advance('5m');
    expect(await w.told()).toEqual([...begun, ...idle, ...finished]);
  });
});

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

describe('the task of a recording', () => {
  const tasksOf = async (w: RecordingWorld) =>
    (await w.events())
      .filter(({ event }) => event.startsWith('task.'))
      .map(({ event, payload }) => `${event} ${payload.task.status.phase}`);
  const shown = async (w: RecordingWorld, sessionId: string) =>
    (await w.request('GET', `/api/task/${taskIdOf(sessionId)}`)).body;

  it('runs from the end of the session, and is completed with what is known of the file', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    const { sessionId } = publish.grant;
    publish.end({ clean: true });
    await w.settle();
    expect((await shown(w, sessionId)).code).toBe('task.not_found');
    await w.advance('6m');
    const { id, videoSpec, size, hash } = await w.assetOf(publish);
    expect(await shown(w, sessionId)).toMatchObject({
      ...{ type: 'recording', outputAssetId: id, params: { recording: { sessionId } } },
      output: { recording: { assetSpec: { type: 'video', videoSpec, size, hash } } },
      status: { phase: 'completed', progress: 1 },
    });
    const { videoFilePath } = (await shown(w, sessionId)).output.recording;
    expect((await w.fileOf(publish))?.video.key).toBe(videoFilePath);
    expect(await tasksOf(w)).toEqual([
      ...['task.spawned pending', 'task.updated running', 'task.completed completed'],
    ]);
    expect((await w.request('POST', `/api/task/${taskIdOf(sessionId)}/retry`)).status).toBe(409);
  });

  it('tells nobody of each try, and fails with the recording', async () => {
    await using w = await recordingWorld({ config: { recordings: { giveUp: '1h' } } });
    const { sessionId } = await over(w, () => disk);
    expect((await shown(w, sessionId)).status.phase).toBe('running');
    await w.advance('2h');
    expect((await shown(w, sessionId)).status).toMatchObject({
      ...{
        phase: 'failed',
        errorMessage: expect.stringMatching(/^Nothing of the broadcast could be fetched/),
      },
    });
    expect(await tasksOf(w)).toEqual([
      ...['task.spawned pending', 'task.updated running', 'task.failed failed'],
    ]);
    expect((await w.request('POST', `/api/task/${taskIdOf(sessionId)}/retry`)).status).toBe(409);
  });

  it('is cancelled with the asset', async () => {
    await using w = await recordingWorld({ config: { recordings: { giveUp: '1h' } } });
    const { publish, sessionId } = await over(w, () => disk);
    await w.deleteAsset(publish);
    await w.settle();
    expect((await shown(w, sessionId)).status.phase).toBe('cancelled');
    await w.advance('2h');
    expect((await shown(w, sessionId)).status.phase).toBe('cancelled');
  });

  it('goes on after a restart, and is completed also when it was cancelled', async () => {
    await using w = await recordingWorld({ durable: true });
    const { publish, sessionId } = await over(w, () => disk);
    await w.crash({ downFor: '1m' });
    await w.request('POST', `/api/task/${taskIdOf(sessionId)}/cancel`);
    await w.advance('1m');
    w.recorder.has(sessionId, takeOf(publish));
    await w.advance('10m');
    expect((await w.assetOf(publish)).status).toBe('ready');
    expect((await shown(w, sessionId)).status.phase).toBe('completed');
  });

  it('is not shown when the account has as many tasks as it may have; the recording is', async () => {
    await using w = await recordingWorld({ config: { tasks: { maxPerAccount: 1 } } });
    const { publish } = await over(w, takeOf);
    const second = await w.onAir(await w.given.stream({ record: true }));
    second.end({ clean: true });
    await w.advance('6m');
    for (const one of [publish, second]) expect((await w.assetOf(one)).status).toBe('ready');
    expect((await w.request('GET', '/api/task')).body).toHaveLength(1);
  });
});
