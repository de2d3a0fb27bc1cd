import { describe, expect, it } from 'vitest';
import type { FinishedRecording } from '../../../core/ports/recorder.ts';
import { assetIdOf, folderOf } from '../../../plugins/recordings/recording.ts';
import { type Fleet, type FleetNode, fleet } from '../../kit/fleet.ts';
import { scriptedTake } from '../../kit/scripted-recorder.ts';
import { recordingPlugins } from './kit.ts';

const begun = ['stream.started', 'recording.started'];
const idle = ['stream.idle', 'recording.waiting'];
const finished = ['asset.created', 'asset.ready', 'recording.ready'];

/** One node with the actors and two that take broadcasts; a session that both of them fed, with a take on each. */
async function session(f: Fleet) {
  const a = await f.start('a', { roles: ['api', 'actors', 'worker'] });
  const m = await f.start('m', { roles: ['media'] });
  const n = await f.start('n', { roles: ['media'] });
  const { body: stream } = await a.request('POST', '/api/stream', { body: { name: 'A', record: true } });
  const publish = async (node: FleetNode) => {
    const one = await node.media.publish(stream.streamKey);
    one.playable();
    await f.settle();
    return one;
  };
  const first = await publish(m);
  await f.advance('10s');
  const second = await publish(n);
  await f.advance('10s');
  const { sessionId } = first.grant;
  const folder = folderOf(sessionId);
  const late = scriptedTake({ folder, name: 'late', startedAt: 2000, gaps: 1 });
  const early = scriptedTake({ folder, name: 'early', startedAt: 1000 });
  m.recorder.has(sessionId, early);
  n.recorder.has(sessionId, late);
  const told = async () => {
    const events: string[] = (await f.events()).map(({ event }) => event);
    return events.filter((event) => !event.startsWith('task.'));
  };
  const read = async (id: string) => (await a.request('GET', `/api/stream/${id}`)).body;
  const asset = async () => (await a.request('GET', `/api/asset/${assetIdOf(sessionId)}`)).body;
  return { a, m, n, asset, stream, sessionId, folder, early, late, first, second, told, read };
}

async function settled(f: Fleet, turns = 5) {
  for (let turn = 0; turn < turns; turn += 1) await f.settle();
}

describe('a session that two nodes fed', () => {
  it('is one recording, in the order of time, and nothing of the parts is left', async () => {
    const { plugins } = recordingPlugins();
    await using f = await fleet({ plugins });
    const { a, m, n, asset, sessionId, folder, early, late, first, second, told, read } = await session(f);
    expect(second.grant).toMatchObject({ sessionId, recording: first.grant.recording });
    second.end({ clean: true });
    await f.advance('6m');
    await settled(f);
    expect(await told()).toEqual([...begun, ...idle, ...finished]);
    expect(a.recorder.joined).toEqual([{ folder, takes: [early, late] }]);
    expect(await asset()).toMatchObject({ status: 'ready', size: 2000 });
    expect([m, n].map(({ recorder }) => recorder.dropped)).toEqual([[sessionId], [sessionId]]);
    expect((await read(sessionId)).issues).toEqual([
      'The recording has gaps: once the server could not write down what was broadcast.',
    ]);
  });

  it('waits for a node that is away', async () => {
    const { plugins } = recordingPlugins();
    await using f = await fleet({ plugins });
    const { m, second, sessionId, told, read } = await session(f);
    m.cut();
    second.end({ clean: true });
    await f.advance('1h');
    expect(await told()).toEqual([...begun, ...idle, 'asset.created']);
    expect((await read(sessionId)).issues[0]).toMatch(/^The recording is not finished yet.*"m"/);
    m.mend();
    // It was declared dead and ends; the next process of its name has the disk.
    const again = await f.start('m', { roles: ['media'] });
    again.recorder.has(sessionId, scriptedTake({ folder: folderOf(sessionId), startedAt: 1 }));
    await f.advance('20m');
    expect(await told()).toEqual([...begun, ...idle, ...finished]);
  });

  it('does without a node that stays away, and says so', async () => {
    const { plugins } = recordingPlugins();
    await using f = await fleet({ plugins, config: { recordings: { giveUp: '10m' } } });
    const { m, asset, second, sessionId, late, told, read } = await session(f);
    m.cut();
    second.end({ clean: true });
    await f.advance('18m');
    expect(await told()).toEqual([...begun, ...idle, ...finished]);
    expect(await asset()).toMatchObject({ status: 'ready', size: late.video.size });
    const session_ = await read(sessionId);
    expect(session_).toMatchObject({ recordingStatus: 'ready' });
    expect(session_.issues).toContain(
      'A part of the recording is missing: what was broadcast through "m" could not be had.',
    );
  });

  it('has failed when no node is left', async () => {
    const { plugins } = recordingPlugins();
    await using f = await fleet({ plugins, config: { recordings: { giveUp: '10m' } } });
    const { m, n, asset, second, sessionId, told } = await session(f);
    m.cut();
    n.recorder.has(sessionId, null);
    second.end({ clean: true });
    await f.advance('18m');
    expect(await told()).toEqual([...begun, ...idle, 'asset.created', 'asset.failed']);
    expect((await asset()).statusMessage).toMatch(/could be fetched. node "m": /);
  });

  it('waits for a node that takes its time', async () => {
    const { plugins } = recordingPlugins();
    await using f = await fleet({ plugins });
    const { n, second, sessionId, late, told } = await session(f);
    let finish: (take: FinishedRecording) => void = () => {};
    n.recorder.has(sessionId, new Promise<FinishedRecording>((resolve) => (finish = resolve)));
    second.end({ clean: true });
    await f.advance('10m');
    expect(await told()).toEqual([...begun, ...idle, 'asset.created']);
    // However often it is asked meanwhile, it does it once.
    expect(n.recorder.finished).toEqual([sessionId]);
    finish(late);
    await f.advance('20s');
    expect(await told()).toEqual([...begun, ...idle, ...finished]);
  });
});

describe('what nodes ask of each other', () => {
  it('is about sessions, and of nodes alone', async () => {
    const { plugins } = recordingPlugins();
    await using f = await fleet({ plugins });
    const a = await f.start('a');
    const b = await f.start('b');
    const asked = (path: string) =>
      a.booted.nodes.request('b', `/internal/recordings/${path}`, {
        method: 'POST',
        signal: new AbortController().signal,
      });
    const id = crypto.randomUUID();
    expect((await asked(`${id}/finish`)).status).toBe(204);
    expect((await asked(`${id}/drop`)).status).toBe(204);
    expect(b.recorder.dropped).toEqual([id]);
    for (const wrong of ['..%2F..', 'x', `${id}x`]) expect((await asked(`${wrong}/drop`)).status).toBe(404);
    expect(b.recorder.dropped).toEqual([id]);
    const outside = await a.request('POST', `/internal/recordings/${id}/drop`);
    expect(outside.status).toBe(404);
  });
});
