import { expect, it } from 'vitest';
import { folderOf } from '../../../plugins/recordings/recording.ts';
import type { ScriptedPublish } from '../../kit/scripted-media.ts';
import { scriptedTake } from '../../kit/scripted-recorder.ts';
import { type RecordingWorld, recordingWorld } from './kit.ts';

/** `recordingStatus` and `isActive` in the newest event of this name, and in the answer of the moment. */
async function both(w: RecordingWorld, name: string, id: string) {
  await w.settle();
  const { stream } = (await w.events()).findLast(({ event }: { event: string }) => event === name);
  const shown = await w.read(id);
  return [stream, shown].map(({ recordingStatus, isActive }) => [recordingStatus, isActive]);
}
const same = (status: string | undefined, isActive: boolean) => [
  [status, isActive],
  [status, isActive],
];
const patch = (w: RecordingWorld, id: string, body: object) =>
  w.request('PATCH', `/api/stream/${id}`, { body });
const takeOf = ({ grant: { sessionId } }: ScriptedPublish) => scriptedTake({ folder: folderOf(sessionId) });

it('is the same in events and answers, from the first session on and through the second', async () => {
  await using w = await recordingWorld();
  const stream = await w.given.stream({ record: true });
  const first = await w.onAir(stream);
  const { started } = Object.groupBy(await w.events(), ({ event }) => event.split('.')[1]);
  expect(started?.map((one: Shown) => [one.event, one.stream.recordingStatus])).toEqual([
    ['stream.started', undefined],
    ['recording.started', 'waiting'],
  ]);
  expect(await both(w, 'recording.started', stream.id)).toEqual(same('waiting', true));
  first.end({ clean: true });
  expect(await both(w, 'stream.idle', stream.id)).toEqual(same('waiting', false));
  expect(await both(w, 'recording.waiting', stream.id)).toEqual(same('waiting', false));
  await w.advance('6m');
  expect(await both(w, 'recording.ready', stream.id)).toEqual(same('ready', false));

  // The former recording is the newest until the next has started.
  const next = await w.onAir(stream);
  const ofStart = (await w.events()).findLast(({ event }: Shown) => event === 'stream.started');
  expect(ofStart.stream.recordingStatus).toBe('ready');
  expect(await both(w, 'recording.started', stream.id)).toEqual(same('waiting', true));
  next.end({ clean: true });
  expect(await both(w, 'stream.idle', stream.id)).toEqual(same('waiting', false));
});

it('is absent from both where record was switched off in the middle of the session', async () => {
  await using w = await recordingWorld();
  const stream = await w.given.stream({ record: true });
  const publish = await w.onAir(stream);
  await patch(w, stream.id, { record: false });
  publish.end({ clean: true });
  for (const name of ['stream.idle', 'recording.waiting'])
    expect([name, await both(w, name, stream.id)]).toEqual([name, same(undefined, false)]);
  await w.advance('6m');
  expect(await both(w, 'recording.ready', stream.id)).toEqual(same(undefined, false));
  expect(await w.read(publish.grant.sessionId)).toMatchObject({ record: true, recordingStatus: 'ready' });
  await patch(w, stream.id, { record: true });
  expect(await w.read(stream.id)).toMatchObject({ recordingStatus: 'ready' });
});

it('is that of the newest session when an earlier recording gets ready late', async () => {
  await using w = await recordingWorld();
  const stream = await w.given.stream({ record: true });
  const first = await w.given.broadcast(stream);
  const finished = Promise.withResolvers<ReturnType<typeof takeOf>>();
  w.recorder.has(first.grant.sessionId, finished.promise);
  await w.request('DELETE', `/api/stream/${stream.id}/terminate`);
  first.end({ clean: true });
  await w.settle();
  await w.advance('1s');
  await w.onAir(stream);
  finished.resolve(takeOf(first));
  expect(await both(w, 'recording.ready', stream.id)).toEqual(same('waiting', true));
  expect(await w.read(first.grant.sessionId)).toMatchObject({ recordingStatus: 'ready' });
});

it('goes with a recording that fails or is deleted, back to the newest one that is left', async () => {
  await using w = await recordingWorld();
  const stream = await w.given.stream({ record: true });
  const record = async () => {
    const publish = await w.onAir(stream);
    publish.end({ clean: true });
    await w.advance('6m');
    return publish;
  };
  await record();
  const second = await record();
  expect(await both(w, 'recording.ready', stream.id)).toEqual(same('ready', false));
  await w.deleteAsset(second);
  await w.settle();
  expect(await w.read(stream.id)).toMatchObject({ recordingStatus: 'ready' });
  const third = await w.given.broadcast(stream);
  w.recorder.has(third.grant.sessionId, null);
  third.end({ clean: true });
  await w.advance('6m');
  await w.advance('1h');
  expect((await w.assetOf(third)).status).toBe('failed');
  expect(await w.read(stream.id)).not.toHaveProperty('recordingStatus');
  const fourth = await w.onAir({ streamKey: stream.streamKey });
  const starts = (await w.events()).filter(({ event }: Shown) => event === 'stream.started');
  expect(starts.at(-1).stream).not.toHaveProperty('recordingStatus');
  expect(fourth.grant.recording).toBeDefined();
});

it('says what is missing of a recording in its event, as the session does', async () => {
  await using w = await recordingWorld();
  const stream = await w.given.stream({ record: true });
  const publish = await w.given.broadcast(stream);
  w.recorder.has(publish.grant.sessionId, { ...takeOf(publish), gaps: 2 });
  publish.end({ clean: true });
  await w.advance('6m');
  const ready = (await w.events()).find(({ event }: Shown) => event === 'recording.ready');
  expect(ready.payload.session).toEqual(await w.read(publish.grant.sessionId));
});

interface Shown {
  readonly event: string;
  readonly stream: { readonly recordingStatus?: string };
}
