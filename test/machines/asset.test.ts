import { describe, expect, it } from 'vitest';
import type { begin } from '../../core/plugin/step.ts';
import { asset } from '../../plugins/assets/asset/asset.ts';
import { durableMachine } from '../kit/durable-machine.ts';

const type = asset as never as Parameters<typeof begin>[0];
const settings = {
  ...{ id: 'a1', account: 'acc', name: 'Show', playbackId: 'p', createdByTokenName: null, userTags: {} },
  ...{ source: { type: 'recording', sessionId: 's1' }, createdAt: 1000 },
};
const file = (name = 'source') => ({
  video: { key: `assets/a1/${name}.mp4`, size: 10, md5: 'm', sha256: 's' },
  spec: { format: 'mp4', duration: 1, bitrate: 80, tracks: [] },
});

function started() {
  const one = durableMachine(type, { input: settings, at: 1000 });
  return {
    one,
    tell: (event: { type: string; at?: number; [name: string]: unknown }) => one.tell({ at: 2000, ...event }),
    get state() {
      return one.snapshot.value;
    },
    get emitted() {
      return one.last.emitted.map(({ type: name }) => name);
    },
    get wanted() {
      return one.last.wanted.map(({ kind, input }) => [kind, input]);
    },
    row: () => type.rows(one.snapshot.context as never, one.snapshot.value as never)[0],
    fire() {
      const timer = one.last.timers.find(({ due }) => due !== null);
      one.tell({ type: timer?.name ?? '', at: timer?.due ?? 0 });
      return (timer?.due ?? 0) - 2000;
    },
  };
}
const failure = { error: { code: 'blobs.unavailable', message: 'no', attempts: 5 } };

describe('an asset', () => {
  it('waits, and is ready with its file', () => {
    const a = started();
    expect([a.state, a.emitted]).toEqual([{ kept: 'waiting' }, ['asset.created']]);
    expect(a.row().indexes).toEqual({ playbackId: 'p', sessionId: 's1', status: 'waiting' });
    a.tell({ type: 'ready', file: file() });
    expect([a.state, a.emitted]).toEqual([{ kept: 'ready' }, ['asset.ready']]);
    expect(JSON.parse(a.row().body ?? '')).toMatchObject({
      status: 'ready',
      size: 10,
      fileAt: 2000,
      updatedAt: 2000,
    });
  });

  it('says nothing of the same file twice, and takes another in its place', () => {
    const a = started();
    a.tell({ type: 'ready', file: file() });
    expect(a.tell({ type: 'ready', file: file(), at: 3000 })).toBe(true);
    expect([a.emitted, JSON.parse(a.row().body ?? '').updatedAt]).toEqual([[], 2000]);
    a.tell({ type: 'ready', file: file('other'), at: 4000 });
    expect([a.emitted, JSON.parse(a.row().body ?? '').file.video.key]).toEqual([
      ['asset.updated'],
      'assets/a1/other.mp4',
    ]);
    expect(a.tell({ type: 'fail', message: 'late' })).toBe(false);
  });

  it('fails with a reason, and is ready all the same when its file comes', () => {
    const a = started();
    a.tell({ type: 'fail', message: 'No media.' });
    expect([a.state, a.emitted]).toEqual([{ kept: 'failed' }, ['asset.failed']]);
    expect(JSON.parse(a.row().body ?? '').statusMessage).toBe('No media.');
    a.tell({ type: 'fail', message: 'Still none.' });
    expect(a.emitted).toEqual([]);
    a.tell({ type: 'ready', file: file(), at: 5000 });
    expect([a.state, a.emitted]).toEqual([{ kept: 'ready' }, ['asset.ready']]);
    expect(JSON.parse(a.row().body ?? '').statusMessage).toBeNull();
  });

  it.each(['waiting', 'failed', 'ready'])(
    'that is %s changes its name and tags, and says so when they differ',
    (state) => {
      const a = started();
      if (state === 'failed') a.tell({ type: 'fail', message: 'No.' });
      if (state === 'ready') a.tell({ type: 'ready', file: file() });
      a.tell({ type: 'change', changes: { name: 'Show' }, at: 3000 });
      expect([a.emitted, a.state]).toEqual([[], { kept: state }]);
      a.tell({ type: 'change', changes: { userTags: { a: 1 } }, at: 3000 });
      expect(a.emitted).toEqual(['asset.updated']);
      a.tell({ type: 'change', changes: { name: 'Other' }, at: 4000 });
      expect([a.emitted, a.row().name, a.state]).toEqual([['asset.updated'], 'Other', { kept: state }]);
      expect(JSON.parse(a.row().body ?? '')).toMatchObject({
        userTags: { a: 1 },
        updatedAt: 4000,
        status: state,
      });
    },
  );

  it.each(['waiting', 'failed', 'ready'])('that is %s is deleted: its row goes, then its blobs', (state) => {
    const a = started();
    if (state === 'failed') a.tell({ type: 'fail', message: 'No.' });
    if (state === 'ready') a.tell({ type: 'ready', file: file() });
    a.tell({ type: 'delete' });
    expect([a.state, a.emitted]).toEqual(['erasing', ['asset.deleted']]);
    expect(a.wanted).toEqual([['asset.erase', { id: 'a1' }]]);
    expect([a.row().body, a.row().indexes]).toEqual([null, {}]);
    for (const event of [
      { type: 'delete' },
      { type: 'fail', message: 'No.' },
      { type: 'change', changes: {} },
    ])
      expect(a.tell(event)).toBe(false);
    a.one.end({ output: null }, 2000);
    expect(a.state).toBe('erased');
    expect(a.fire()).toBe(7 * 24 * 3_600_000);
    expect([a.state, a.one.last.isDone]).toEqual(['forgotten', true]);
  });

  it('is erased however long that is not possible', () => {
    const a = started();
    a.tell({ type: 'delete' });
    for (let round = 0; round < 3; round += 1) {
      a.one.end(failure, 2000);
      expect(a.state).toBe('troubled');
      expect(a.fire()).toBe(10 * 60_000);
      expect([a.state, a.wanted]).toEqual(['erasing', [['asset.erase', { id: 'a1' }]]]);
    }
  });

  it('never comes back: a file that is made after it was deleted is erased', () => {
    const a = started();
    a.tell({ type: 'delete' });
    expect(a.tell({ type: 'ready', file: file() })).toBe(true);
    expect([a.state, a.emitted, a.wanted.length, a.one.last.cancels.length]).toEqual(['erasing', [], 1, 1]);
    a.one.end({ output: null }, 2000);
    a.tell({ type: 'ready', file: file() });
    expect([a.state, a.emitted, a.wanted.length, a.row().body]).toEqual(['erasing', [], 1, null]);
    a.one.end(failure, 2000);
    a.tell({ type: 'ready', file: file() });
    expect([a.state, a.wanted.length]).toEqual(['erasing', 1]);
  });
});
