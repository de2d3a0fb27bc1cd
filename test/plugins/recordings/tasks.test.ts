import { describe, expect, it } from 'vitest';
import { taskIdOf } from '../../../plugins/recordings/finish.ts';
import { disk, over, type RecordingWorld, recordingWorld, takeOf } from './kit.ts';

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
