import { afterEach, describe, expect, test } from 'vitest';
import { cidr } from '../../../../core/base/cidr.ts';
import { systemClock } from '../../../../runtime/drivers/clock/system.ts';
import { flashVersions } from '../../../../runtime/media/rtmp/net-connection.ts';
import { certificates } from '../../../outbound/certificates.ts';
import { cert as selfSigned, key as selfSignedKey } from '../../../rtmp/tls.ts';
import { quiet, until } from '../../kit.ts';
import { farSide, steps, type Whim } from '../far-side.ts';
import { bytesOf, framed, pushTo, silent, sockets, troubleOf } from './kit.ts';

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
