import { readdirSync, readlinkSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { cidr } from '../../../core/base/cidr.ts';
import type { PushTrouble } from '../../../core/ports/pusher.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { encodeAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { flashVersions } from '../../../runtime/media/rtmp/flash-version.ts';
import { certificates } from '../../outbound/certificates.ts';
import { cert as selfSigned, key as selfSignedKey } from '../../rtmp/tls.ts';
import { quiet, until } from '../kit.ts';
import { farSide, type Step, steps, type Whim } from './far-side.ts';
import { framed, pushTo } from './rtmp-kit.ts';

/** Whatever a push says, it says nothing of this. */
const secrets = /secret|live|127\.0|::1|receiver\.example|\d{4,5}(?! ms)/;

const before = sockets().length;
afterEach(() => until('all sockets to be gone', () => sockets().length <= before));

describe('a push over RTMP', () => {
  test('says what an encoder says, sends media in large chunks, and says goodbye', async () => {
    await using far = await farSide();
    const push = pushTo(far.url('live/sub/secret-key?a=1'));
    const connection = await push.opened();
    const [visit] = far.visits;
    const body = bytesOf(200_000);
    for (const [type, timestamp, length] of [
      [18, 0, 20],
      [9, 0xffffff, 200_000],
      [8, 5, 3],
      [9, 0xffffffff, 65_536],
      [8, 2 ** 32 + 7, 0],
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
      flashVer: flashVersions.push,
      tcUrl: far.url('live/sub'),
      fourCcList: expect.arrayContaining(['hvc1', 'av01', 'Opus']),
    });
    expect(visit.commands[4].slice(3)).toEqual(['secret-key?a=1', 'live']);
    expect(visit.media.map((one) => [one.type, one.timestamp, one.streamId, one.body.length])).toEqual([
      [18, 0, 1, 20],
      [9, 0xffffff, 1, 200_000],
      [8, 5, 1, 3],
      [9, 0xffffffff, 1, 65_536],
      [8, 7, 1, 0],
    ]);
    expect(Buffer.compare(visit.media[1].body, body)).toBe(0);
    expect(visit.wasReset).toBe(false);
    expect(push.calls).toEqual(['open']);
    expect(connection.write(body)).toBe(0);
    await until('its timers to be gone', () => push.timers() === 0);
  });

  test('a far side that reads slowly takes what it can; what it took may be used again', async () => {
    await using far = await farSide();
    const push = pushTo(far.url());
    const connection = await push.opened();
    const [visit] = far.visits;
    visit.socket.pause();
    const scratch = new Uint8Array(connection.framing.sizeOf(300_000));
    let sent = 0;
    let most = 0;
    // Until the network is full, each time from the same buffer.
    for (; ; sent += 1) {
      const body = new Uint8Array(300_000).fill(sent);
      const end = connection.framing.write(scratch, 0, 9, sent, body, 0, body.length);
      const count = connection.write(scratch.subarray(0, end));
      const rest = scratch.slice(count, end);
      scratch.fill(255);
      if (count === end) continue;
      // A ping in the midst of a message is answered behind it.
      visit.ping(99);
      await quiet();
      most = connection.write(rest);
      visit.socket.resume();
      await push.send(rest);
      sent += 1;
      break;
    }
    expect(most).toBe(0);
    await push.send(framed(connection, { type: 8, timestamp: 1, body: bytesOf(10) }));
    await until('all to arrive', () => visit.media.length === sent + 1 || visit.wrong);
    expect(visit.wrong).toBeUndefined();
    for (const [index, { body }] of visit.media.slice(0, sent).entries())
      expect(body.every((byte) => byte === index % 256)).toBe(true);
    await until('the answer to the ping', () => visit.controls.some(({ type }) => type === 4));
    push.abort();
  });

  test('pings are answered, windows acknowledged, and the chunk size of the server is obeyed', async () => {
    await using far = await farSide({ chunkSize: 7 });
    const push = pushTo(far.url());
    await push.opened();
    const [visit] = far.visits;
    visit.number(5, 1000);
    visit.number(6, 5_000_000);
    for (let n = 0; n < 20; n += 1) visit.message(18, bytesOf(1000));
    visit.number(1, 100_000);
    visit.ping(0x01020304);
    const [pongs, acks, windows] = [4, 3, 5].map(
      (type) => () => visit.controls.filter((one) => one.type === type),
    );
    await until('the answers', () => pongs().length === 1 && acks().length > 0 && windows().length > 0);
    expect(pongs()[0].body.toString('hex')).toBe('000701020304');
    expect(acks()[0].body.readUInt32BE()).toBeGreaterThanOrEqual(16_384);
    expect(windows()[0].body.readUInt32BE()).toBe(5_000_000);
    expect(push.calls).toEqual(['open']);
    push.abort();
  });

  test('IPv6, and a name of which one address is dead', async () => {
    await using six = await farSide({ host: '::1' });
    const one = pushTo(six.url());
    await one.opened();
    expect(six.visits[0].commands[0][2]).toMatchObject({ tcUrl: six.url('live') });
    one.abort();
    await using far = await farSide();
    const named = pushTo(far.url('live/secret', 'Pushed.Example'), {
      lookup: async () => ['::1', '127.0.0.1'],
    });
    await named.opened();
    named.abort();
  });
});

const silent: Whim = () => {};
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

describe('leaving', () => {
  test('a far side that does not close is left after its time', async () => {
    await using far = await farSide();
    const push = pushTo(far.url());
    const connection = await push.opened();
    const [visit] = far.visits;
    visit.socket.pause();
    connection.leave();
    await quiet();
    expect(visit.isClosed).toBe(false);
    push.expire();
    visit.socket.resume();
    await until('the far side to be left', () => visit.isClosed);
    expect(visit.names.slice(-2)).toEqual(['FCUnpublish', 'deleteStream']);
  });

  test('the goodbye comes behind all that was written', async () => {
    await using far = await farSide();
    const push = pushTo(far.url());
    const connection = await push.opened();
    const whole = framed(connection, { type: 9, timestamp: 1, body: bytesOf(150_000) });
    await push.send(whole);
    connection.leave();
    const [visit] = far.visits;
    await until('the far side to be left', () => visit.isClosed);
    expect(visit.wrong).toBeUndefined();
    expect(visit.media).toHaveLength(1);
    expect(visit.names.at(-1)).toBe('deleteStream');
  });

  test.each(steps)('called off at %s, it says nothing more', async (step) => {
    let isThere = false;
    const arrive: Whim = () => {
      isThere = true;
    };
    await using far = await farSide({ whims: { [step]: arrive } });
    const push = pushTo(far.url());
    await until('the step', () => isThere);
    push.abort();
    push.abort();
    await until('the far side to be left', () => far.visits[0].isClosed);
    expect(push.calls).toEqual([]);
    expect(push.timers()).toBe(0);
  });

  test('called off at once, while its name is asked for, and when it is open', async () => {
    await using far = await farSide();
    const first = pushTo(far.url());
    first.abort();
    let answer = (_: string[]) => {};
    const asked = new Promise<string[]>((resolve) => {
      answer = resolve;
    });
    const second = pushTo(far.url('live/secret', 'pushed.example'), { lookup: () => asked });
    await quiet();
    second.abort();
    answer(['127.0.0.1']);
    await quiet();
    expect([...first.calls, ...second.calls, far.visits.length]).toEqual([0]);
    const third = pushTo(far.url());
    const connection = await third.opened();
    third.abort();
    connection.leave();
    await until('the far side to be left', () => far.visits[0].isClosed);
    await quiet();
    expect(third.calls).toEqual(['open']);
    await until('its timers to be gone', () => first.timers() + second.timers() + third.timers() === 0);
  });
});

describe('where it connects to', () => {
  test.each<[string, string, string | undefined, string[]]>([
    ['an address that is not allowed', 'forbidden', '127.0.0.1', []],
    ['a mapped address', 'forbidden', '[::ffff:127.0.0.1]', []],
    ['localhost', 'forbidden', 'localhost', []],
    ['a name for such an address', 'forbidden', 'pushed.example', ['10.0.0.1']],
    ['a name with one such address', 'forbidden', 'pushed.example', ['127.0.0.1', '169.254.169.254']],
    ['a name that nobody has', 'dns', 'pushed.example', []],
    ['another way to write loopback', 'forbidden', '0x7f.1', ['127.0.0.1']],
    ['a number', 'forbidden', '2130706433', ['127.0.0.1']],
  ])('%s is %s', async (what, reason, host, addresses) => {
    await using far = await farSide();
    const allow = what.startsWith('a name with one') ? [cidr('127.0.0.1/32')!] : [];
    const push = pushTo(far.url('live/secret', host), { allow, lookup: async () => addresses });
    expect(push.calls).toEqual([]);
    expect(await troubleOf(push)).toMatchObject({ reason });
    expect(far.visits).toHaveLength(0);
  });

  test.each([
    'http://127.0.0.1/live/secret',
    'rtmp://127.0.0.1',
    'rtmp://127.0.0.1/',
    'rtmp://127.0.0.1/live/',
    'rtmp://127.0.0.1:0/live/secret',
    'rtmp://127.0.0.1:70000/live/secret',
    'rtmp://127.0.0.1:25/live/secret',
    'rtmp://user:secret@127.0.0.1/live/secret',
    'rtmp://[127.0.0.1/live/secret',
    'rtmp://secret_%41/live/secret',
    'secret',
    '',
  ])('%s is no URL to push to', async (url) => {
    const push = pushTo(url);
    expect(push.calls).toEqual([]);
    expect(await troubleOf(push)).toMatchObject({ reason: 'url' });
  });

  test('nobody listens there; a lookup takes too long', async () => {
    const far = await farSide();
    const url = far.url();
    await far[Symbol.asyncDispose]();
    expect(await troubleOf(pushTo(url))).toEqual({
      reason: 'connect',
      message: 'The server refused the connection.',
    });
    const push = pushTo('rtmp://pushed.example/live/secret', { lookup: () => new Promise(() => {}) });
    await until('the lookup', () => push.timers() === 1);
    push.expire();
    expect(await troubleOf(push)).toMatchObject({ reason: 'dns' });
  });
});

describe('RTMPS', () => {
  const own = { cert: selfSigned, key: selfSignedKey };
  const good = { cert: certificates.good, key: certificates.key };
  const ca = [certificates.authority];

  test('a certificate for the name', async () => {
    await using far = await farSide({ tls: good });
    const push = pushTo(far.url('live/secret-key', 'receiver.example'), { ca });
    const connection = await push.opened();
    const [visit] = far.visits;
    expect((visit.socket as unknown as { servername: string }).servername).toBe('receiver.example');
    visit.socket.pause();
    const scratch = new Uint8Array(connection.framing.sizeOf(300_000));
    const bodies = Array.from({ length: 40 }, (_, n) => new Uint8Array(300_000).fill(n));
    const sending = (async () => {
      for (const body of bodies) {
        const end = connection.framing.write(scratch, 0, 9, 1, body, 0, body.length);
        await push.send(scratch.subarray(0, end));
        scratch.fill(255);
      }
    })();
    await quiet();
    visit.socket.resume();
    await sending;
    connection.leave();
    await until('the far side to be left', () => visit.isClosed);
    expect(visit.wrong).toBeUndefined();
    expect(visit.media).toHaveLength(bodies.length);
    for (const [index, { body }] of visit.media.entries())
      expect(Buffer.compare(body, bodies[index])).toBe(0);
    expect(visit.names.slice(-2)).toEqual(['FCUnpublish', 'deleteStream']);
  });

  test.each([
    ['another name', good, 'other.example', ca, /for another name/],
    ['a time that is over', { ...good, cert: certificates.expired }, 'receiver.example', ca, /expired/],
    ['an authority that nobody knows', good, 'receiver.example', undefined, /not trusted/],
    ['itself', own, 'localhost', undefined, /self-signed/],
  ] as const)('a certificate for %s', async (_, tls, host, trusted, message) => {
    await using far = await farSide({ tls });
    const trouble = await troubleOf(pushTo(far.url('live/secret-key', host), { ca: trusted }));
    expect(trouble).toMatchObject({ reason: 'tls', message: expect.stringMatching(message) });
    expect(far.visits.flatMap(({ commands }) => commands)).toEqual([]);
  });

  test('a server that waits for RTMP without it', async () => {
    await using far = await farSide({ whims: { accept: silent, handshake: silent } });
    const url = far.url().replace('rtmp:', 'rtmps:');
    const trouble = await troubleOf(pushTo(url, { clock: systemClock(), connectTimeout: 300 }));
    const message = 'The server did not answer as a TLS server in the time allowed.';
    expect(trouble).toEqual({ reason: 'tls', message });
  });

  test('a server that speaks none', async () => {
    await using far = await farSide({ whims: { accept: ({ socket }) => socket.write('220 mail\r\n') } });
    const url = far.url('live/secret-key', 'receiver.example').replace('rtmp:', 'rtmps:');
    expect((await troubleOf(pushTo(url, { ca }))).reason).toMatch(/^(tls|connect)$/);
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

/** How a push ends, which says nothing that is secret and leaves nothing behind. */
async function troubleOf(push: ReturnType<typeof pushTo>): Promise<PushTrouble> {
  const trouble = await push.ended();
  expect(trouble.message).not.toMatch(secrets);
  expect(trouble.message).toMatch(/^[A-Z].*[^.]\.$/);
  expect(push.timers()).toBe(0);
  await quiet();
  expect(push.calls.at(-1)).toBe('end');
  expect(push.calls.filter((call) => call === 'end')).toHaveLength(1);
  return trouble;
}

function repeat(count: number, action: (n: number) => void): void {
  for (let n = 0; n < count; n += 1) action(n);
}

function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, n) => n % 251);
}

/** Of a message of that length on this chunk stream. */
function header(chunkStream: number, length: number): Buffer {
  return Buffer.from([chunkStream, 0, 0, 0, length >> 16, length >> 8, length, 20, 0, 0, 0, 0]);
}

/** What sockets this process has open. */
function sockets(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const name = readlinkSync(`/proc/self/fd/${fd}`);
      return name.startsWith('socket:') ? [name] : [];
    } catch {
      // It was closed meanwhile, such as the one that lists them.
      return [];
    }
  });
}
