import { describe, expect, it } from 'vitest';
import { assetIdOf, folderOf } from '../../../plugins/recordings/recording.ts';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { type RecordingWorld, recordingWorld } from './kit.ts';

const patch = (w: RecordingWorld, id: string, body: object) =>
  w.request('PATCH', `/api/stream/${id}`, { body });
const begun = ['stream.started', 'recording.started'];
const idle = ['stream.idle', 'recording.waiting'];
const finished = ['asset.created', 'asset.ready', 'recording.ready'];
/** What a session is told of when it was not recorded. */
const unrecorded = { recordingStatus: undefined, recordingUrl: undefined, mp4Url: undefined };

/** A session as it is when everything is over. */
async function outcome(w: RecordingWorld, publish: ScriptedPublish, isRecorded: boolean) {
  const { sessionId, recording } = publish.grant;
  const session = await w.read(sessionId);
  const asset = await w.assetOf(publish);
  if (!isRecorded) {
    expect(recording).toBeUndefined();
    expect(session).toMatchObject({ record: false });
    for (const name of Object.keys(unrecorded)) expect(session).not.toHaveProperty(name);
    expect(asset).toBeUndefined();
    expect(w.recorder.finished).not.toContain(sessionId);
    return;
  }
  expect(recording).toEqual({ folder: folderOf(sessionId) });
  expect(session).toMatchObject({
    record: true,
    recordingStatus: 'ready',
    recordingUrl: `http://localhost:8080/recordings/${sessionId}/index.m3u8`,
    mp4Url: `http://localhost:8080/recordings/${sessionId}/source.mp4`,
    issues: [],
  });
  expect(asset).toMatchObject({
    id: assetIdOf(sessionId),
    status: 'ready',
    source: { type: 'recording', sessionId },
    userId: session.userId,
    name: session.name,
    createdByTokenName: session.createdByTokenName,
  });
  expect((await w.fileOf(publish))?.video.key).toBe(`${folderOf(sessionId)}/video.mp4`);
  expect(w.recorder.dropped).toContain(sessionId);
}

describe('whether a session is recorded', () => {
  it.each([true, false])('is what record was when it began: %s', async (record) => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record });
    const publish = await w.onAir(stream);
    publish.end({ clean: true });
    await w.advance('6m');
    await outcome(w, publish, record);
    expect(await w.told()).toEqual(
      record ? [...begun, ...idle, ...finished] : ['stream.started', 'stream.idle'],
    );
  });

  it.each([true, false])(
    'does not change with record during the session, which began with %s',
    async (record) => {
      await using w = await recordingWorld();
      const stream = await w.given.stream({ record });
      const first = await w.onAir(stream);
      await patch(w, stream.id, { record: !record });
      await w.advance('10s');
      // A takeover, a return in hold and one after it are the same session.
      const taken = await w.onAir(stream);
      first.end({ clean: false });
      await w.advance('10s');
      taken.end({ clean: false });
      await w.advance('10s');
      const held = await w.onAir(stream);
      held.end({ clean: true });
      await w.advance('1m');
      const back = await w.onAir(stream);
      back.end({ clean: true });
      await w.advance('6m');
      const next = await w.onAir(stream);
      next.end({ clean: true });
      await w.advance('6m');
      for (const publish of [taken, held, back]) {
        expect(publish.grant.sessionId).toBe(first.grant.sessionId);
        expect(publish.grant.recording).toEqual(first.grant.recording);
      }
      expect(next.grant.sessionId).not.toBe(first.grant.sessionId);
      await outcome(w, first, record);
      await outcome(w, next, !record);
      const plain = ['stream.started', 'stream.idle'];
      const again = ['stream.started', ...idle];
      expect(await w.told()).toEqual(
        record
          ? [...begun, ...idle, ...again, ...finished, ...plain]
          : [...plain, ...plain, ...begun, ...idle, ...finished],
      );
    },
  );

  it.each([true, false])(
    'does not change with record in the window, the session began with %s',
    async (record) => {
      await using w = await recordingWorld();
      const stream = await w.given.stream({ record });
      const first = await w.onAir(stream);
      first.end({ clean: true });
      await w.advance('3m');
      await w.request('PATCH', `/api/stream/${stream.id}/record`, { body: { record: !record } });
      const back = await w.onAir(stream);
      expect(back.grant.sessionId).toBe(first.grant.sessionId);
      expect(back.grant.recording).toEqual(first.grant.recording);
      await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
      const next = await w.onAir(stream);
      await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
      await outcome(w, first, record);
      await outcome(w, next, !record);
    },
  );

  it('keeps each session of a stream apart', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true });
    const sessions: ScriptedPublish[] = [];
    for (const record of [false, true, false, true]) {
      await patch(w, stream.id, { record });
      const publish = await w.onAir(stream);
      sessions.push(publish);
      await w.advance('5s');
      await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
    }
    for (const [index, publish] of sessions.entries()) await outcome(w, publish, index % 2 === 1);
    const listed = await w.request('GET', `/api/stream/${stream.id}/sessions?record=1`);
    expect(listed.body.map(({ id }: { id: string }) => id)).toEqual([
      sessions[3].grant.sessionId,
      sessions[1].grant.sessionId,
    ]);
    for (const session of listed.body) expect(session).toMatchObject({ recordingStatus: 'ready' });
    const newest = sessions[3].grant.sessionId;
    expect(await w.read(stream.id)).toMatchObject({
      recordingStatus: 'ready',
      recordingUrl: `http://localhost:8080/recordings/${newest}/index.m3u8`,
    });
    await patch(w, stream.id, { record: false });
    expect(await w.read(stream.id)).not.toHaveProperty('recordingStatus');
  });
});

describe('recordingStatus', () => {
  it('is absent before the first session, waiting from its start, and ready at the end', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true });
    expect(await w.read(stream.id)).not.toHaveProperty('recordingStatus');
    const publish = await w.media.publish(stream.streamKey);
    expect(await w.read(stream.id)).not.toHaveProperty('recordingStatus');
    publish.end({ clean: true });
    const played = await w.onAir(stream);
    const both = [stream.id, played.grant.sessionId];
    const shows = async (status: string) => {
      for (const id of both) expect(await w.read(id)).toMatchObject({ recordingStatus: status });
    };
    await shows('waiting');
    expect(await w.read(stream.id)).not.toHaveProperty('recordingUrl');
    played.end({ clean: true });
    await w.settle();
    await shows('waiting');
    await w.advance('6m');
    await shows('ready');
    // The next session counts from its start.
    const next = await w.onAir(stream);
    expect(await w.read(stream.id)).toMatchObject({ recordingStatus: 'waiting' });
    expect(await w.read(stream.id)).not.toHaveProperty('mp4Url');
    expect(await w.read(played.grant.sessionId)).toMatchObject({ recordingStatus: 'ready' });
    expect(next.grant.sessionId).not.toBe(played.grant.sessionId);
  });

  it('is ignored in bodies', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({
      record: true,
      recordingStatus: 'ready',
      recordingUrl: 'x',
      mp4Url: 'y',
    });
    expect(await w.read(stream.id)).not.toHaveProperty('recordingStatus');
  });
});

describe('the events of a recorded session', () => {
  it('come in their order, once each, with their times, over hold, idle and the window', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true });
    const began = w.now();
    const first = await w.onAir(stream);
    await w.advance('60s');
    first.end({ clean: false });
    await w.advance('20s');
    const second = await w.onAir(stream);
    await w.advance('60s');
    second.end({ clean: false });
    await w.advance('2m');
    const third = await w.onAir(stream);
    await w.advance('60s');
    third.end({ clean: true });
    await w.advance('6m');
    const told = (await w.events())
      .filter(({ event }) => !event.startsWith('task.'))
      .map(({ event, timestamp }) => [event, (timestamp - began) / 1000]);
    expect(told).toEqual([
      ['stream.started', 0],
      ['recording.started', 0],
      ['stream.idle', 170],
      ['recording.waiting', 170],
      ['stream.started', 260],
      ['stream.idle', 320],
      ['recording.waiting', 320],
      ['asset.created', 680],
      ['asset.ready', 680],
      ['recording.ready', 680],
    ]);
  });

  it('show the stream, its status, and at last the session with its links', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true, userTags: { show: 'friday' } });
    const publish = await w.onAir(stream);
    publish.end({ clean: true, duration: 12, bytes: 999, segments: 6 });
    await w.advance('6m');
    const events = await w.events();
    const [started, waiting, ready] = ['started', 'waiting', 'ready'].map((name) =>
      events.find(({ event }) => event === `recording.${name}`),
    );
    const { streamKey: _, ...known } = stream;
    const shown = { id: known.id, name: known.name, userTags: known.userTags, record: true };
    expect(started.stream).toMatchObject({ ...shown, isActive: true, recordingStatus: 'waiting' });
    expect(started).not.toHaveProperty('payload');
    expect(waiting.stream).toMatchObject({ ...shown, isActive: false, recordingStatus: 'waiting' });
    expect(ready.stream).toMatchObject({ ...shown, isActive: false, recordingStatus: 'ready' });
    for (const { stream } of [started, waiting, ready]) expect(stream).not.toHaveProperty('streamKey');
    const { sessionId } = publish.grant;
    const session = await w.read(sessionId);
    expect(session).toMatchObject({ sourceSegmentsDuration: 12, parentId: stream.id });
    expect(ready.payload).toEqual({
      recordingUrl: session.recordingUrl,
      mp4Url: session.mp4Url,
      session,
      assetId: assetIdOf(sessionId),
    });
  });

  it.each([
    ['terminate', 'DELETE', '/terminate', undefined],
    ['suspend', 'PATCH', '', { suspended: true }],
    ['rotate', 'POST', '/rotate-key', undefined],
    ['delete', 'DELETE', '', undefined],
  ])(
    'are whole at once after %s: live, held, in the window, and before a return played',
    async (_, method, path, body) => {
      for (const when of ['live', 'held', 'recent', 'returning']) {
        await using w = await recordingWorld();
        const stream = await w.given.stream({ record: true });
        const publish = await w.onAir(stream);
        if (when !== 'live') publish.end({ clean: when !== 'held' });
        await w.advance('5s');
        const back = when === 'returning' ? await w.media.publish(stream.streamKey) : undefined;
        await w.request(method, `/api/stream/${stream.id}${path}`, { body });
        if (when === 'live') publish.end({ clean: false, duration: 9 });
        back?.end({ clean: false });
        await w.advance('10m');
        expect([when, await w.told()]).toEqual([when, [...begun, ...idle, ...finished]]);
        await outcome(w, publish, true);
      }
    },
  );

  it('are none for a session that never played, and none more for a return that did not', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true });
    const mute = await w.media.publish(stream.streamKey);
    await w.advance('5s');
    mute.end({ clean: false });
    await w.advance('10m');
    expect(await w.told()).toEqual([]);
    expect(await w.assetOf(mute)).toBeUndefined();
    const publish = await w.onAir(stream);
    publish.end({ clean: true });
    await w.advance('1m');
    const back = await w.media.publish(stream.streamKey);
    back.end({ clean: false });
    await w.advance('10m');
    expect(back.grant.sessionId).toBe(publish.grant.sessionId);
    expect(await w.told()).toEqual([...begun, ...idle, ...finished]);
  });
});

describe('events for plugins alone', () => {
  it('are in the log, and no client hears of them', async () => {
    await using w = await recordingWorld();
    const stream = await w.given.stream({ record: true });
    const publish = await w.onAir(stream);
    await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
    publish.end({ clean: false });
    await w.settle();
    const log = await w.store.events.after(0, { limit: 1000 });
    expect(
      log.filter(({ type }) => type.startsWith('session.')).map(({ type, account }) => [type, account]),
    ).toEqual([
      ['session.started', ''],
      ['session.idle', ''],
      ['session.over', ''],
    ]);
    const own = await w.store.events.after(0, { account: stream.userId, limit: 1000 });
    const ofOthers = own.map(({ type }) => type).filter((type) => !type.startsWith('task.'));
    expect(ofOthers).toEqual([...begun, ...idle, ...finished]);
  });
});
