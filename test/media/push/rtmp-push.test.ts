import { describe, expect, test } from 'vitest';
import { until } from '../kit.ts';
import { farSide } from './far-side.ts';
import { framed, pushTo } from './rtmp-kit.ts';

describe('a push over RTMP', () => {
  test('says what an encoder says, sends media in large chunks, and says goodbye', async () => {
    await using far = await farSide();
    const push = pushTo(far.url('live/sub/secret-key?a=1'));
    const connection = await push.opened();
    const [visit] = far.visits;
    const body = Uint8Array.from({ length: 200_000 }, (_, n) => n % 251);
    for (const [type, timestamp, length] of [
      [18, 0, 20],
      [9, 0xffffff, 200_000],
      [8, 5, 3],
      [9, 0xffffffff, 65_536],
    ]) {
      await push.send(framed(connection, { type, timestamp, body: body.subarray(0, length) }));
    }
    connection.leave();
    await until('the far side to be left', () => visit.isClosed);
    expect(visit.wrong).toBeUndefined();
    expect(visit.names).toEqual([
      ...['connect', 'releaseStream', 'FCPublish', 'createStream', 'publish', 'FCUnpublish', 'deleteStream'],
    ]);
    expect(visit.commands[0][2]).toMatchObject({
      app: 'live/sub',
      tcUrl: far.url('live/sub'),
      fourCcList: expect.arrayContaining(['hvc1', 'av01', 'Opus']),
    });
    expect(visit.commands[4].slice(3)).toEqual(['secret-key?a=1', 'live']);
    expect(visit.media.map(({ type, timestamp, streamId }) => [type, timestamp, streamId])).toEqual([
      [18, 0, 1],
      [9, 0xffffff, 1],
      [8, 5, 1],
      [9, 0xffffffff, 1],
    ]);
    expect(Buffer.compare(visit.media[1].body, body)).toBe(0);
    expect(visit.wasReset).toBe(false);
    expect(push.calls).toEqual(['open']);
    await until('its timers to be gone', () => push.timers() === 0);
  });
});
