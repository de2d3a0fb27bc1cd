import { afterEach, describe, expect, it } from 'vitest';
import type { PublishRefusal } from '../../core/ports/media.ts';
import { RtmpListener } from '../../runtime/media/rtmp/listener.ts';
import {
  audio,
  chunk,
  command,
  connect,
  createStream,
  grantOf,
  handshake,
  message,
  pattern,
  publish,
  recordingHandlers,
  rtmpDefaults,
  video,
  virtualClock,
} from './kit.ts';
import { cert, key } from './tls.ts';
import { openListener } from './wire.ts';

const opening = [...handshake, ...connect, ...createStream];
const start = 'NetStream.Publish.Start';
const unpublish = command(['FCUnpublish', 6, null, 'abcd']);
const no: PublishRefusal = { granted: false, reason: 'unauthorized', message: 'No such key.' };

let open: ReturnType<typeof openListener>[] = [];
const listen = (options?: Parameters<typeof openListener>[0]) => {
  const made = openListener(options);
  open.push(made);
  return made;
};
afterEach(() => {
  for (const { listener } of open) listener.stop();
  open = [];
});

/** The listener still takes a publish from beginning to end, and nobody else is left on it. */
async function expectWell(server: ReturnType<typeof openListener>, others = 0) {
  const before = server.heard().length;
  const encoder = await server.dial([...opening, ...publish('well')]);
  await encoder.told(start);
  encoder.send(video([1, 2, 3], 7));
  await server.until(() => server.heard().length === before + 1);
  encoder.send(unpublish);
  await encoder.told('NetStream.Unpublish.Success');
  encoder.socket.end();
  await server.until(() => server.ends.at(-1)?.clean === true);
  await encoder.closed();
  expect(server.listener.connections).toBeLessThanOrEqual(others + 1);
}

describe('a listener', () => {
  it('takes a publish with large messages', async () => {
    const server = listen();
    const encoder = await server.dial([...opening, ...publish()]);
    await encoder.told(start);
    const big = pattern(400_000);
    encoder.send(message({ fmt: 0, csid: 6, type: 9, time: 40 }, big), audio([5], 41), unpublish);
    await encoder.told('NetStream.Unpublish.Success');
    expect(server.heard()).toEqual([
      { kind: 'video', timestamp: 40, bytes: big },
      { kind: 'audio', timestamp: 41, bytes: [5] },
    ]);
    expect(server.ends).toEqual([
      { token: 't1', clean: true, by: 'encoder', reason: 'the encoder ended the broadcast' },
    ]);
    expect(server.requests[0].address).toBe('127.0.0.1');
    await expectWell(server, 1);
  });

  it('sees an encoder that dies', async () => {
    const server = listen();
    for (const kill of ['terminate', 'end'] as const) {
      const encoder = await server.dial([...opening, ...publish()]);
      await encoder.told(start);
      encoder.socket[kill]();
      await server.until(() => server.ends.length > 0);
      expect(server.ends.splice(0).map(({ clean, by }) => [clean, by])).toEqual([[false, 'encoder']]);
    }
    await expectWell(server);
  });

  it('sees an encoder that dies before its publish is granted', async () => {
    let answer: () => void = () => undefined;
    const server = listen({
      answer: (_, token) =>
        new Promise((resolve) => {
          answer = () => resolve(grantOf(token));
        }),
    });
    const encoder = await server.dial([...opening, ...publish(), ...video([1])]);
    await server.until(() => server.requests.length === 1 || encoder.codes().length > 0);
    encoder.socket.terminate();
    await server.until(() => server.listener.connections === 0 || server.lines.length > 0);
    expect(server.ends).toEqual([]);
    answer();
    await server.until(() => server.ends.length === 1);
    expect(server.ends[0]).toMatchObject({ clean: false, by: 'encoder' });
    expect(server.sinks).toEqual([]);
  });

  it('closes a publish by its token', async () => {
    const server = listen();
    const encoder = await server.dial([...opening, ...publish()]);
    await encoder.told(start);
    server.listener.close('unknown', 'Nobody.');
    server.listener.close('t1', 'Ended by its owner.');
    server.listener.close('t1', 'Again.');
    await encoder.told('NetStream.Publish.Rejected');
    encoder.send(video([1]));
    expect(encoder.received().includes('Ended by its owner.')).toBe(true);
    server.advance(2500);
    await encoder.closed();
    expect(server.ends).toEqual([{ token: 't1', clean: true, by: 'server', reason: 'Ended by its owner.' }]);
    expect(server.heard()).toEqual([]);
    await expectWell(server);
  });

  it('stops: every publish ends uncleanly, every socket closes, no timer is left', async () => {
    const server = listen();
    const encoder = await server.dial([...opening, ...publish()]);
    const idle = await server.dial();
    await encoder.told(start);
    server.listener.stop();
    await Promise.all([encoder.closed(), idle.closed()]);
    expect(server.ends).toEqual([
      { token: 't1', clean: false, by: 'server', reason: 'the server is stopping' },
    ]);
    expect(server.pending()).toBe(0);
    await expect(server.dial()).rejects.toThrow();
  });

  it('names a port that is in use', () => {
    const { listener } = listen();
    const { clock } = virtualClock();
    const { handlers } = recordingHandlers();
    const quiet = () => undefined;
    const log = { debug: quiet, info: quiet, error: quiet };
    const { port } = listener;
    const again = () =>
      new RtmpListener({ host: '127.0.0.1', port, clock, log, handlers, config: rtmpDefaults });
    expect(again).toThrow(`Port ${port} (rtmp.port) is in use by another program.`);
    expect(again).toThrow(expect.objectContaining({ code: 'rtmp.port_in_use' }));
  });

  it('does not fill the log when its owner fails again and again', async () => {
    const server = listen({ answer: () => Promise.reject(new Error('the store is away')) });
    for (let turn = 0; turn < 40; turn += 1) {
      const encoder = await server.dial([...opening, ...publish()]);
      await encoder.told('NetStream.Failed');
      encoder.socket.end();
      await encoder.closed();
    }
    expect(server.lines.filter(({ level }) => level === 'error').length).toBe(5);
    server.advance(11_000);
    const encoder = await server.dial([...opening, ...publish()]);
    await encoder.told('NetStream.Failed');
    expect(server.lines.at(-1)).toMatchObject({ level: 'error', fields: { unsaid: 35 } });
  });

  it('takes RTMPS on a port of its own', async () => {
    const tls = { port: 0, cert, key };
    const server = listen({ tls });
    const encoder = await server.dial([], server.listener.tlsPort, true);
    encoder.send(opening, publish());
    await encoder.told(start);
    encoder.send(message({ fmt: 0, csid: 6, type: 9 }, pattern(100_000)));
    await server.until(() => server.heard().length === 1);
    expect(server.heard()[0].bytes).toEqual(pattern(100_000));
    await expectWell(server, 1);

    // Who never finishes the TLS handshake is under the same deadlines.
    const silent = await server.dial([], server.listener.tlsPort);
    const slow = await server.dial([0x16, 3, 1, 0, 200, 1], server.listener.tlsPort);
    await server.until(() => server.listener.connections >= 2);
    server.advance(10_500);
    await Promise.all([silent.closed(), slow.closed(), encoder.closed()]);
    await expectWell(server);
  });
});

describe('deadlines', () => {
  it('closes who does not publish within ten seconds, silent or busy', async () => {
    const server = listen();
    const silent = await server.dial();
    const slow = await server.dial(handshake.slice(0, 5));
    const ready = await server.dial(opening);
    await ready.told('NetConnection.Connect.Success');
    server.advance(9_900);
    expect([silent, slow, ready].map((one) => one.isClosed())).toEqual([false, false, false]);
    server.advance(400);
    await Promise.all([silent.closed(), slow.closed(), ready.closed()]);
    await expectWell(server);
  });

  it('ends a publish after ten seconds without a byte', async () => {
    const server = listen();
    const encoder = await server.dial([...opening, ...publish()]);
    await encoder.told(start);
    for (let round = 1; round < 5; round += 1) {
      encoder.send(audio([1]));
      await server.until(() => server.heard().length === round);
      server.advance(9_000);
    }
    expect(server.ends).toEqual([]);
    // Within ten seconds of the last byte, the intervals at which anybody looks included.
    server.advance(1_000);
    await encoder.closed();
    expect(server.ends).toMatchObject([{ clean: false, by: 'encoder' }]);
    await expectWell(server);
  });

  it('closes who was refused within three seconds', async () => {
    const server = listen({
      answer: async (request, token) => (request.key === 'well' ? grantOf(token) : no),
    });
    const encoder = await server.dial([...opening, ...publish('secret-key'), ...video([1])]);
    await encoder.told('NetStream.Publish.Unauthorized');
    encoder.send(video([2]));
    expect(encoder.isClosed()).toBe(false);
    server.advance(2_999);
    await encoder.closed();
    expect(server.sinks).toEqual([]);
    expect(server.lines.length).toBe(1);
    expect(JSON.stringify(server.lines)).not.toContain('secret-key');
    await expectWell(server);
  });
});

describe('limits', () => {
  it('holds so many connections of an address, and gives their places back', async () => {
    const server = listen({ config: { connectionsPerAddress: 3 } });
    const held = await Promise.all([server.dial(), server.dial(), server.dial()]);
    for (let count = 0; count < 5; count += 1) await (await server.dial(handshake)).closed();
    expect(held.map((one) => one.isClosed())).toEqual([false, false, false]);
    held[0].socket.end();
    await server.until(
      () =>
        server.listener.connections === 2 || server.lines.some(({ message }) => message.includes('ended')),
    );
    await expectWell(server, 3);
  });

  it('holds so many connections in all', async () => {
    const server = listen({ config: { connections: 2 } });
    const held = await Promise.all([server.dial(), server.dial()]);
    await (await server.dial(handshake)).closed();
    expect(server.listener.connections).toBe(2);
    expect(held.map((one) => one.isClosed())).toEqual([false, false]);
  });

  it('writes few lines about many bad connections', async () => {
    const server = listen();
    for (let count = 0; count < 100; count += 1) await (await server.dial([0x16, 3, 1])).closed();
    expect(server.lines.length).toBe(5);
    server.advance(10_000);
    await (await server.dial([0x16])).closed();
    expect(server.lines.at(-1)?.fields).toMatchObject({ reason: 'this is not RTMP version 3', unsaid: 95 });
    await expectWell(server);
  });
});

/** Inputs that ended node-media-server 4.4.3, or got past it (research/media-servers.md, 6.3). */
describe('hostile input', () => {
  it.each([
    ['zero-length Set Chunk Size', [...handshake, ...message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [])]],
    ['chunk size 0', [...opening, ...message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [0, 0, 0, 0])]],
    ['chunk size 2^31', [...opening, ...message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [128, 0, 0, 0])]],
    ['publish without a name', [...opening, ...command(['publish', 5, null], { stream: 1 })]],
    ['publish before connect', [...handshake, ...publish()]],
    [
      'AMF nested 10,000 deep',
      [
        ...handshake,
        ...message({ fmt: 0, csid: 3, type: 20, stream: 0 }, Array(10_000).fill([10, 0, 0, 0, 1]).flat()),
      ],
    ],
    [
      'an AMF array of 2^32-1',
      [
        ...handshake,
        ...message({ fmt: 0, csid: 3, type: 20, stream: 0 }, [2, 0, 1, 97, 10, 255, 255, 255, 255]),
      ],
    ],
    [
      'a message of 16 MiB',
      [...opening, ...chunk({ fmt: 0, csid: 6, type: 9, length: 0xffffff }, pattern(128))],
    ],
    ['HTTP', [...Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')]],
    ['noise after the handshake', [...handshake, ...pattern(5000)]],
  ])('%s ends its own connection only', async (_, bytes) => {
    const server = listen();
    const good = await server.dial([...opening, ...publish('good')]);
    await good.told(start);
    const bad = await server.dial(bytes);
    await bad.closed();
    good.send(video([9]));
    await server.until(() => server.heard().length === 1);
    await expectWell(server, 1);
  });

  it.each([
    ['a tcUrl that is no URL', command(['connect', 1, { app: 'live', tcUrl: '%%%' }]), publish('well')],
    ['the same query name twice', connect, publish('well?sign=a&sign=b')],
  ])('%s does no harm', async (_, connecting, publishing) => {
    const server = listen();
    const encoder = await server.dial([...handshake, ...connecting, ...createStream, ...publishing]);
    await encoder.told(start);
    expect(server.requests[0].key).toBe('well');
  });

  it('reserves nothing for what 60 headers promise', async () => {
    const server = listen();
    const headers = Array.from({ length: 60 }, (_, index) =>
      chunk({ fmt: 0, csid: index + 3, type: 9, length: 10 * 1024 * 1024 }, pattern(128)),
    ).flat();
    const encoder = await server.dial([...opening, ...publish()]);
    await encoder.told(start);
    encoder.send(headers, audio([1]), unpublish);
    await encoder.closed().catch(() => undefined);
    expect(server.ends.length).toBe(1);
    expect(server.sinks[0].video.bytes.length).toBeLessThan(100_000);
  });

  it('lets no media of refused, playing or waiting peers through', async () => {
    const server = listen({
      answer: async (request, token) => {
        if (request.key === 'bad') return no;
        return request.key === 'well' ? grantOf(token) : new Promise(() => undefined);
      },
    });
    const flood = Array(50)
      .fill([...video(pattern(500)), ...audio(pattern(50))])
      .flat();
    const refused = await server.dial([...opening, ...flood, ...publish('bad'), ...flood]);
    await refused.told('NetStream.Publish.Unauthorized');
    const player = await server.dial([
      ...opening,
      ...command(['play', 5, null, 'well'], { stream: 1 }),
      ...flood,
    ]);
    await player.told('NetStream.Play.Failed');
    const waiting = await server.dial([...opening, ...publish('wait'), ...flood]);
    const mute = await server.dial([...opening, ...flood]);
    await mute.told('NetConnection.Connect.Success');
    refused.send(flood);
    player.send(flood);
    expect(waiting.codes()).not.toContain(start);
    await expectWell(server, 4);
    expect(server.sinks.length).toBe(1);
    expect(server.heard().length).toBe(1);
  });

  it('goes on past 2^32 ms and keeps far chunk streams apart', async () => {
    const server = listen();
    const encoder = await server.dial([...opening, ...publish()]);
    await encoder.told(start);
    encoder.send(message({ fmt: 0, csid: 65_599, type: 9, time: 0xffffffff }, [1]));
    encoder.send(message({ fmt: 0, csid: 319, type: 8, time: 5 }, [2]));
    encoder.send(message({ fmt: 1, csid: 65_599, type: 9, time: 41 }, [3]));
    await server.until(() => server.heard().length === 3);
    expect(server.heard().map(({ timestamp }) => timestamp)).toEqual([0xffffffff, 5, 40]);
  });
});
