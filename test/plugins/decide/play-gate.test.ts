import type { Deciders, Kit } from 'millrace/plugin';
import { expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { playGate } from '../../../core/http/play-gate.ts';
import { asking } from '../../../core/plugin/decide.ts';
import type { StreamsKit } from '../../../plugins/streams/config.ts';
import { liveGate } from '../../../plugins/streams/live-gate.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

const playbackId = '6pukxh2m0ydr9h3q';
const request = new Request(`http://localhost/hls/${playbackId}/source.m3u8`);
const subject = { kind: 'live', account: 'a', what: 'playlist', file: 'source.m3u8' } as const;

/** What the gates are given, with a store that a test can take away. */
function station(play?: NonNullable<Deciders<Kit>['play']>) {
  const clock = virtualClock({ start: 0 });
  const store = {
    reads: 0,
    isAway: false,
    row: { id: 's', account: 'a', sessionId: 'one' } as object | undefined,
  };
  const decider = play && {
    plugin: 'gate',
    onError: 'refuse' as const,
    decide: (question: never) => play(question, undefined as never),
    note: () => {},
  };
  const kit = {
    ...{ clock, log: silentLog },
    decide: decider ? { play: asking([decider], { clock, timeout: 1000 }) } : {},
    caller: () => ({ address: '203.0.113.7', baseUrl: '' }),
    resources: {
      async find() {
        store.reads += 1;
        if (store.isAway) throw new Fault('store.unreachable', { status: 503, message: 'away' });
        return store.row && { body: JSON.stringify(store.row) };
      },
    },
  };
  return { clock, store, kit: kit as unknown as StreamsKit };
}

it('where nobody decides there is no gate', () => {
  const { kit } = station();
  expect([playGate(kit), liveGate(kit)]).toEqual([undefined, undefined]);
});

it('a decider that answers at once makes no request wait', async () => {
  expect(playGate(station(() => undefined).kit)?.admit(request, subject)).toBeUndefined();
  expect(() => playGate(station(() => ({ refuse: 'No.' })).kit)?.admit(request, subject)).toThrow(
    'You may not',
  );
  const later = playGate(station(async () => ({ refuse: 'No.' })).kit)?.admit(request, subject);
  await expect(later).rejects.toMatchObject({ code: 'playback.refused', status: 403 });
});

it('the stream of a playback id is read every few seconds, however many parts are fetched', async () => {
  const { kit, store, clock } = station(() => undefined);
  const gate = liveGate(kit);
  for (let part = 0; part < 100; part += 1)
    await gate?.admit(request, { playbackId, file: `part${part}.mp4` });
  expect(store.reads).toBe(1);
  await clock.advance(3000);
  await gate?.admit(request, { playbackId, file: 'part.mp4' });
  expect(store.reads).toBe(2);
});

it('what could be watched can be watched while the store is away, and what nobody knows cannot', async () => {
  const { kit, store, clock } = station(({ sessionId }) =>
    sessionId === 'one' ? undefined : { refuse: 'No.' },
  );
  const gate = liveGate(kit);
  await gate?.admit(request, { playbackId, file: 'source.m3u8' });
  store.isAway = true;
  for (let minutes = 0; minutes < 10; minutes += 1) {
    await clock.advance(60_000);
    await gate?.admit(request, { playbackId, file: 'source.m3u8' });
  }
  expect(store.reads).toBe(11);
  const other = gate?.admit(request, { playbackId: 'anotherplayback1', file: 'source.m3u8' });
  await expect(other).rejects.toMatchObject({ code: 'store.unreachable' });
  store.isAway = false;
  store.row = undefined;
  await clock.advance(3000);
  const gone = gate?.admit(request, { playbackId, file: 'source.m3u8' });
  await expect(gone).rejects.toMatchObject({ code: 'playback.not_live' });
});
