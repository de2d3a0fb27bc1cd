import { describe, expect, it } from 'vitest';
import type { FinishedRecording } from '../../../core/ports/recorder.ts';
import { begun, disk, finished, idle, over, recordingPlugins, recordingWorld, takeOf } from './kit.ts';

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
