import { afterEach, describe, expect, test } from 'vitest';
import type { PushTrouble } from '../../../../core/ports/pusher.ts';
import { encodeAmf0 } from '../../../../runtime/media/rtmp/amf0.ts';
import { quiet, until } from '../../kit.ts';
import { farSide, type Step, steps, type Whim } from '../far-side.ts';
import { bytesOf, pushTo, silent, sockets, troubleOf } from './kit.ts';

const before = sockets().length;
afterEach(() => until('all sockets to be gone', () => sockets().length <= before));

const close: Whim = ({ socket }) => socket.end();
const reset: Whim = ({ socket }) => socket.resetAndDestroy();
const garbage: Whim = ({ socket }) => socket.write(Buffer.alloc(5000, 0xfe));
/** Two bytes, and then nothing. */
const drip: Whim = ({ socket }) => {
  socket.write(new Uint8Array([3]));
  setImmediate(() => socket.write(new Uint8Array([0])));
};
/** An object in the member `k` of an object. */
const deeper = Buffer.from('0300016b', 'hex');
const behind = steps.slice(2);

describe('a far side that', () => {
  test.each(steps)('never answers at %s', async (step) => {
    await using far = await farSide({
      whims: step === 'accept' ? { accept: silent, handshake: silent } : { [step]: silent },
    });
    expect(await late(far, step)).toMatchObject({ reason: 'timeout' });
  });

  test.each(steps.slice(1))('drips at %s', async (step) => {
    await using far = await farSide({ whims: { [step]: drip } });
    expect(await late(far, step)).toMatchObject({ reason: 'timeout' });
  });

  test.each(steps)('closes at %s', async (step) => {
    await using far = await farSide({ whims: { [step]: close } });
    const trouble = await troubleOf(pushTo(far.url()));
    expect(trouble.reason).toBe('closed');
    expect(/key/.test(trouble.message)).toBe(step === 'publish');
  });

  test.each(steps)('resets at %s', async (step) => {
    await using far = await farSide({ whims: { [step]: reset } });
    expect((await troubleOf(pushTo(far.url()))).reason).toMatch(/^(closed|connect)$/);
  });

  test.each(steps)('talks nonsense at %s', async (step) => {
    await using far = await farSide({ whims: { [step]: garbage } });
    expect(await troubleOf(pushTo(far.url()))).toMatchObject({ reason: 'protocol' });
  });

  test.each(behind)('says _error at %s, with the key in it', async (step) => {
    const says: Whim = (visit) => {
      const [name, transaction] = visit.commands.at(-1) as [string, number];
      expect(name).toBe(step);
      const description = 'no secret-key for 127.0.0.1';
      visit.command(['_error', transaction, null, { code: 'secret-key', level: 'error', description }]);
    };
    await using far = await farSide({ whims: { [step]: says } });
    expect(await troubleOf(pushTo(far.url()))).toEqual({
      reason: 'rejected',
      message: "The server refused the stream; check the target's URL and its key.",
    });
  });

  test.each(behind)('says an error by onStatus at %s', async (step) => {
    const says: Whim = (visit) => visit.status('NetStream.Publish.BadName', 'error', 'secret-key is taken');
    await using far = await farSide({ whims: { [step]: says } });
    const trouble = await troubleOf(pushTo(far.url()));
    expect(trouble.reason).toBe('rejected');
    expect(trouble.message).toContain('NetStream.Publish.BadName: the key is wrong, or');
  });

  test('wants a user and a password', async () => {
    const says: Whim = (visit) => {
      const description = '[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : ';
      const code = 'NetConnection.Connect.Rejected';
      visit.command(['_error', 1, null, { code, level: 'error', description }]);
    };
    await using far = await farSide({ whims: { connect: says } });
    const trouble = await troubleOf(pushTo(far.url()));
    expect(trouble).toMatchObject({
      reason: 'rejected',
      message: expect.stringContaining('user and a password'),
    });
  });

  test.each<[string, Whim, RegExp]>([
    ['HTTP', ({ socket }) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'), /HTTP/],
    ['TLS', ({ socket }) => socket.write(Buffer.from('15030300020246', 'hex')), /rtmps/],
  ])('speaks %s', async (_, accept, message) => {
    await using far = await farSide({ whims: { accept } });
    const trouble = await troubleOf(pushTo(far.url()));
    expect(trouble).toMatchObject({ reason: 'protocol', message: expect.stringMatching(message) });
  });

  test('answers out of turn, and twice, gets each command once', async () => {
    const eager: Whim = (visit) => {
      visit.status('NetStream.Publish.Start');
      for (const transaction of [4, 1, 1, 4, 4]) visit.command(['_result', transaction, null, 1]);
    };
    await using far = await farSide({ whims: { connect: eager } });
    const push = pushTo(far.url());
    await push.opened();
    expect(far.visits[0].names).toEqual(['connect', 'releaseStream', 'FCPublish', 'createStream', 'publish']);
    push.abort();
  });

  test.each<[string, Whim, string]>([
    ['closes', close, 'closed'],
    ['resets', reset, 'closed'],
    ['talks nonsense', garbage, 'protocol'],
    ['refuses after all', (visit) => visit.status('NetStream.Publish.BadName', 'error'), 'rejected'],
    ['says that the stream is over', (visit) => visit.status('NetStream.Unpublish.Success'), 'closed'],
    ['says close', (visit) => visit.command(['close', 0, null]), 'closed'],
    ['gives orders without end', (visit) => repeat(500, () => visit.ping(1)), 'protocol'],
    ['speaks without end', (visit) => repeat(50, () => visit.message(9, bytesOf(30_000))), 'protocol'],
    ['sends a message that is too long', ({ socket }) => socket.write(header(3, 0xffffff)), 'protocol'],
    [
      'begins messages without end',
      ({ socket }) => repeat(64, (n) => socket.write(Buffer.concat([header(3 + n, 1000), bytesOf(128)]))),
      'protocol',
    ],
    [
      'nests too deeply',
      (visit) => visit.message(20, Buffer.concat([encodeAmf0(['onStatus', 0]), Buffer.alloc(9000, deeper)])),
      'protocol',
    ],
    ['sets a chunk size of zero', (visit) => visit.number(1, 0), 'protocol'],
    ['continues what never began', ({ socket }) => socket.write(new Uint8Array([0xc9])), 'protocol'],
  ])('%s after it accepted', async (_, whim, reason) => {
    await using far = await farSide();
    const push = pushTo(far.url());
    await push.opened();
    whim(far.visits[0]);
    expect(await troubleOf(push)).toMatchObject({ reason });
    expect(push.calls).toEqual(['open', 'end']);
  });

  test('refuses what it had accepted is not said to have been given a wrong key', async () => {
    await using far = await farSide();
    for (const [code, named] of [
      ['NetStream.Publish.Rejected', ' with NetStream.Publish.Rejected'],
      ['Our.Own.Words', ''],
    ]) {
      const push = pushTo(far.url());
      await push.opened();
      far.visits.at(-1)?.status(code, 'error');
      expect(await troubleOf(push)).toEqual({
        reason: 'rejected',
        message: `The server accepted the stream and then ended it${named}.`,
      });
    }
  });

  test('asks without end in time is answered', async () => {
    await using far = await farSide();
    const push = pushTo(far.url());
    await push.opened();
    const [visit] = far.visits;
    for (let round = 1; round <= 5; round += 1) {
      repeat(150, () => visit.ping(1));
      await until(
        'the answers',
        () => visit.controls.filter(({ type }) => type === 4).length === 150 * round,
      );
      push.pass(10_000);
    }
    expect(push.calls).toEqual(['open']);
    push.abort();
  });
});

/** The trouble of a push whose far side stands still at `step`. */
async function late(far: Awaited<ReturnType<typeof farSide>>, step: Step): Promise<PushTrouble> {
  const names: Partial<Record<Step, string>> = {
    connect: 'connect',
    createStream: 'createStream',
    publish: 'publish',
  };
  const push = pushTo(far.url());
  await until('the step', () => {
    const [visit] = far.visits;
    const name = names[step];
    return visit && (name === undefined || visit.names.includes(name));
  });
  await quiet();
  expect(push.calls).toEqual([]);
  push.expire();
  return troubleOf(push);
}

function repeat(count: number, action: (n: number) => void): void {
  for (let n = 0; n < count; n += 1) action(n);
}

/** Of a message of that length on this chunk stream. */
function header(chunkStream: number, length: number): Buffer {
  return Buffer.from([chunkStream, 0, 0, 0, length >> 16, length >> 8, length, 20, 0, 0, 0, 0]);
}
