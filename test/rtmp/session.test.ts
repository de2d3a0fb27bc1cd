import { describe, expect, it } from 'vitest';
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
  session,
  settle,
  video,
} from './kit.ts';
import { later, opening, ping, publishing, unpublish } from './session-kit.ts';

const deleteStream = (id = 1) => command(['deleteStream', 7, null, id]);

describe('a publish', () => {
  it('is answered like other servers do, and its media reaches the sink', async () => {
    const { handlers, requests, heard, ends } = recordingHandlers();
    const { feed, replies } = session({ handlers });
    feed(
      handshake,
      connect,
      command(['releaseStream', 2, null, 'abcd']),
      command(['FCPublish', 3, null, 'abcd']),
    );
    feed(createStream, command(['_checkbw', 9, null]), publish('abcd?sign=a&sign=b'));
    await settle();
    const { said, codes } = replies();
    expect(said.slice(0, 3).map(({ type }) => type)).toEqual([5, 6, 20]);
    expect(codes).toEqual([
      'NetConnection.Connect.Success',
      'NetStream.Publish.Start',
      'NetStream.Publish.Start',
    ]);
    expect(said.filter(({ type }) => type === 20).map(({ values }) => values.slice(0, 2))).toEqual([
      ['_result', 1],
      ['_result', 2],
      ['_result', 3],
      ['_result', 4],
      ['_result', 9],
      ['onFCPublish', 0],
      ['onStatus', 0],
    ]);
    expect(said.find(({ values }) => values[1] === 4)?.values[3]).toBe(1);
    expect(said.find(({ type }) => type === 4)?.bytes).toEqual([0, 0, 0, 0, 0, 1]);
    expect(requests).toEqual([
      { connection: 'c1', app: 'live', key: 'abcd', address: '192.0.2.1', isPush: false },
    ]);

    feed(command(['@setDataFrame', 'onMetaData', { width: 1280 }], { stream: 1, type: 18 }));
    feed(
      command(['onMetaData', { width: 640 }], { stream: 1, type: 18 }),
      command(['onFI', {}], { stream: 1, type: 18 }),
    );
    feed(message({ fmt: 0, csid: 4, type: 18 }, [17, 1, 2]));
    feed(video(pattern(300), 5), audio(pattern(20), 6));
    expect(heard()).toEqual([
      { kind: 'metadata', values: ['@setDataFrame', 'onMetaData', { width: 1280 }] },
      { kind: 'metadata', values: ['onMetaData', { width: 640 }] },
      { kind: 'video', timestamp: 5, bytes: pattern(300) },
      { kind: 'audio', timestamp: 6, bytes: pattern(20) },
    ]);
    expect(ends).toEqual([]);
  });

  it('works byte by byte, with AMF3 commands', async () => {
    const { handlers, heard } = recordingHandlers();
    const { feed } = session({ handlers });
    const bytes = [
      ...handshake,
      ...connect,
      ...command(['createStream', 2, null], { type: 17 }),
      ...command(['publish', 3, null, 'abcd'], { type: 17, stream: 1 }),
      ...video(pattern(300)),
    ];
    for (const byte of bytes) feed([byte]);
    await settle();
    expect(heard()).toEqual([{ kind: 'video', timestamp: 0, bytes: pattern(300) }]);
  });

  it.each(['junk', '://', 'rtmp://', '', 5, null, undefined, 'rtmp://[::1/live', 'rtmp://x/../../y'])(
    'does not mind tcUrl %j',
    async (tcUrl) => {
      const { handlers, requests } = recordingHandlers();
      const { feed } = session({ handlers });
      feed(handshake, command(['connect', 1, { app: 'live/?x=1', tcUrl }]), createStream, publish('/abcd/'));
      await settle();
      expect(requests.map(({ app, key }) => [app, key])).toEqual([['live', 'abcd']]);
    },
  );

  it.each([
    ['FMLE/3.0 (compatible; Millrace push)', true],
    ['FMLE/3.0 (compatible; Millrace)', false],
    ['FMLE/3.0 (compatible; FMSc/1.0)', false],
    [`FMLE/3.0 (compatible; Millrace push)${'x'.repeat(10_000)}`, false],
    ['', false],
    [undefined, false],
    [null, false],
    [5, false],
    [true, false],
    [{ flashVer: 'FMLE/3.0 (compatible; Millrace push)' }, false],
    [['FMLE/3.0 (compatible; Millrace push)'], false],
  ])('with flashVer %j is said to be a push: %j', async (flashVer, isPush) => {
    const { handlers, requests } = recordingHandlers();
    const { feed } = session({ handlers });
    feed(handshake, command(['connect', 1, { app: 'live', flashVer }]), createStream, publish());
    await settle();
    expect(requests).toMatchObject([{ app: 'live', isPush }]);
  });

  it.each([
    ['FMLE/3.0 (compatible; Lavf60.16.100)', 'FMLE/3.0 (compatible; Lavf60.16.100)'],
    ['Evil\r\n\u0000\u202eCorp', 'Evil Corp'],
    ['x'.repeat(5000), `${'x'.repeat(99)}…`],
    ['\u0000', undefined],
    [7, undefined],
  ])('with flashVer %j says which encoder it is, in one short line: %j', async (flashVer, encoder) => {
    const { handlers, requests } = recordingHandlers();
    const { feed } = session({ handlers });
    feed(handshake, command(['connect', 1, { app: 'live', flashVer }]), createStream, publish());
    await settle();
    expect(requests.map((request) => request.encoder)).toEqual([encoder]);
  });

  it('without flashVer is no push', async () => {
    const { handlers, requests } = recordingHandlers();
    const { feed } = session({ handlers });
    feed(handshake, command(['connect', 1, { app: 'live' }]), createStream, publish());
    await settle();
    expect(requests).toMatchObject([{ app: 'live', isPush: false }]);
  });

  it('waits for the answer: what comes meanwhile is heard after it', async () => {
    const { handlers, heard, answer, sinks } = later();
    const { feed, replies } = session({ handlers });
    feed(opening, publish(), video([1]));
    feed(video([2]), unpublish, publish('second'));
    await settle();
    expect(sinks.length).toBe(0);
    expect(replies().codes).toEqual(['NetConnection.Connect.Success']);
    answer(grantOf('t'));
    await settle();
    expect(heard().map(({ bytes }) => bytes)).toEqual([[1], [2]]);
    expect(replies().codes).toEqual([
      'NetConnection.Connect.Success',
      'NetStream.Publish.Start',
      'NetStream.Unpublish.Success',
      'NetStream.Unpublish.Success',
      'NetStream.Publish.Start',
    ]);
  });

  it('keeps a bounded number of bytes meanwhile', async () => {
    const { handlers, answer, sinks, ends } = later();
    const { feed, ended, closed } = session({ handlers });
    feed(opening, publish());
    for (let count = 0; count < 256; count += 1) feed(Array(1024).fill(0));
    expect(closed()).toBe(0);
    feed([0]);
    expect(closed()).toBe(1);
    expect(ended.map(({ reason }) => reason)).toEqual([
      'too many bytes came before the publish was answered',
    ]);
    answer(grantOf('t'));
    await settle();
    expect(sinks.length).toBe(0);
    expect(ends.map(({ token, clean, by }) => ({ token, clean, by }))).toEqual([
      { token: 't', clean: false, by: 'encoder' },
    ]);
  });

  it('reports a grant that comes when the encoder has gone', async () => {
    const { handlers, answer, sinks, ends } = later();
    const made = session({ handlers });
    made.feed(opening, publish());
    made.session.disconnected();
    answer(grantOf('t'));
    await settle();
    expect(sinks.length).toBe(0);
    expect(ends).toEqual([{ token: 't', clean: false, by: 'encoder', reason: 'the connection closed' }]);
    expect(made.ended.length).toBe(1);
  });

  it.each([
    ['FCUnpublish', unpublish],
    ['deleteStream', deleteStream()],
    ['closeStream', command(['closeStream', 0, null], { stream: 1 })],
  ])('ends cleanly by %s, and another may follow', async (_, end) => {
    const { feed, heard, ends, sinks, replies, session: made, closed } = await publishing();
    feed(video([1]), chunk({ fmt: 0, csid: 4, type: 8, length: 200 }, pattern(128)), end);
    feed(chunk({ fmt: 3, csid: 4 }, pattern(72)), video([2]), audio([3]), unpublish, deleteStream());
    expect(ends).toEqual([
      { token: 't1', clean: true, by: 'encoder', reason: 'the encoder ended the broadcast' },
    ]);
    feed(createStream, publish());
    await settle();
    feed(video([4]));
    expect(sinks.length).toBe(2);
    expect(heard().map(({ bytes }) => bytes)).toEqual([[1], [4]]);
    expect(replies().codes.filter((code) => code.startsWith('NetStream.Publish'))).toEqual(
      Array(2).fill('NetStream.Publish.Start'),
    );
    made.disconnected();
    made.disconnected();
    expect(ends.map(({ token, clean }) => [token, clean])).toEqual([
      ['t1', true],
      ['t2', false],
    ]);
    expect(closed()).toBe(0);
  });

  it('is not ended by commands about other message streams', async () => {
    const { feed, heard, ends } = await publishing();
    feed(
      deleteStream(2),
      command(['closeStream', 0, null], { stream: 2 }),
      command(['deleteStream', 0, null, 'x']),
      video([1]),
    );
    expect([heard().length, ends.length]).toEqual([1, 0]);
  });

  it('goes on when a second one is tried', async () => {
    const { feed, heard, requests, replies } = await publishing();
    feed(publish('other'), video([1]));
    await settle();
    expect(requests.length).toBe(1);
    expect(replies().codes.at(-1)).toBe('NetStream.Publish.Rejected');
    expect(heard().length).toBe(1);
  });

  it('can be ended by the server: the encoder is told, its media is heard no more', async () => {
    const { feed, heard, ends, replies, session: made, sweep, closed, ended } = await publishing();
    feed(video([1]));
    made.endPublish('Another encoder has taken over.');
    feed(video([2]), unpublish, publish());
    await settle();
    const last = replies().said.at(-1)?.values[3];
    expect(last).toEqual({
      level: 'error',
      code: 'NetStream.Publish.Rejected',
      description: 'Another encoder has taken over.',
    });
    expect(heard().length).toBe(1);
    expect(ends).toEqual([
      { token: 't1', clean: true, by: 'server', reason: 'Another encoder has taken over.' },
    ]);
    sweep(1900);
    expect(closed()).toBe(0);
    sweep(200);
    expect(closed()).toBe(1);
    made.disconnected();
    expect([ends.length, ended.length, closed()]).toEqual([1, 1, 1]);
  });

  it('can be ended by its own sink in the middle of a call', async () => {
    const { feed, sinks, ends, session: made, closed } = await publishing();
    sinks[0].onVideo = () => made.endPublish('Enough.');
    feed(video([1]), video([2]), audio([3]));
    expect([sinks[0].heard.length, ends.length, closed()]).toEqual([0, 1, 0]);
  });

  it('ends this session alone when its sink throws', async () => {
    const { feed, sinks, ends, closed, ended } = await publishing();
    const fault = new TypeError('broken');
    sinks[0].onVideo = () => {
      throw fault;
    };
    feed(video([1]), video([2]));
    expect(ends).toEqual([
      { token: 't1', clean: false, by: 'server', reason: 'something went wrong in the server' },
    ]);
    expect([closed(), ended]).toEqual([1, [{ reason: 'something went wrong in the server', error: fault }]]);
  });

  it('ends uncleanly on a protocol error and on stop', async () => {
    const broken = await publishing();
    broken.feed(message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [0, 0, 0, 0]));
    expect(broken.ends.map(({ clean, by }) => [clean, by])).toEqual([[false, 'encoder']]);
    const stopped = await publishing();
    stopped.session.stop();
    stopped.session.stop();
    stopped.feed(video([1]));
    expect(stopped.ends.map(({ clean, by }) => [clean, by])).toEqual([[false, 'server']]);
    expect([stopped.closed(), stopped.heard().length]).toEqual([1, 0]);
  });
});

describe('protocol control', () => {
  it('answers pings and ignores odd ones', () => {
    const { feed, replies, closed } = session({ handlers: recordingHandlers().handlers });
    feed(
      handshake,
      connect,
      ping,
      message({ fmt: 0, csid: 2, type: 4, stream: 0 }, []),
      message({ fmt: 0, csid: 2, type: 4, stream: 0 }, [0, 6]),
    );
    for (const type of [3, 5, 6])
      feed(
        message({ fmt: 0, csid: 2, type, stream: 0 }, []),
        message({ fmt: 0, csid: 2, type, stream: 0 }, [0, 0, 0, 0, 2]),
      );
    expect(replies().said.at(-1)?.bytes).toEqual([0, 7, 1, 2, 3, 4]);
    expect(closed()).toBe(0);
  });

  it('tells the window that Set Peer Bandwidth asks for, once, and takes Set Buffer Length in silence', () => {
    const { feed, replies, closed } = session({ handlers: recordingHandlers().handlers });
    const bandwidth = (size: number[], kind: number) =>
      message({ fmt: 0, csid: 2, type: 6, stream: 0 }, [...size, kind]);
    feed(handshake, connect);
    const before = replies().said.length;
    for (const kind of [0, 1, 2, 255]) feed(bandwidth([0, 1, 0, 0], kind));
    feed(bandwidth([0, 0, 0, 0], 2));
    // Stream Begin, EOF, Dry, Set Buffer Length, Is Recorded, Ping Response, and what does not exist.
    for (const event of [0, 1, 2, 3, 4, 7, 31])
      feed(message({ fmt: 0, csid: 2, type: 4, stream: 0 }, [0, event, 0, 0, 0, 1, 0, 0, 4, 0]));
    expect(replies().said.slice(before)).toMatchObject([{ type: 5, bytes: [0, 1, 0, 0] }]);
    expect(closed()).toBe(0);
    for (let count = 0; count < 60; count += 1) feed(bandwidth([0, 1, 1, count], 2));
    expect(closed()).toBe(1);
  });

  it('lets a large window wait for the sweep, so that an encoder can close without a reset', async () => {
    const { session: made, replies, sweep } = await publishing();
    const acks = () => replies().said.filter(({ type }) => type === 3).length;
    const frame = Uint8Array.from(video(pattern(100_000)));
    for (let count = 0; count < 100; count += 1) made.feed(frame);
    expect(acks()).toBe(0);
    sweep(250);
    sweep(250);
    expect(acks()).toBe(1);
  });

  it('acknowledges every window, of its own size or the one the peer sets', async () => {
    const { feed, replies, session: made, sweep } = await publishing();
    const acks = () =>
      replies()
        .said.filter(({ type }) => type === 3)
        .map(({ bytes }) => new DataView(Uint8Array.from(bytes).buffer).getUint32(0));
    feed(message({ fmt: 0, csid: 2, type: 1, stream: 0 }, [0, 0xff, 0, 0]));
    const second = Uint8Array.from(
      message({ fmt: 0, csid: 6, type: 9 }, Array(300_000).fill(0), { chunkSize: 0xff0000 }),
    );
    for (let count = 0; count < 20; count += 1) {
      made.feed(second);
      sweep(250);
    }
    expect(acks().length).toBe(2);
    expect(acks()[1]).toBeGreaterThanOrEqual(5_000_000);
    feed(message({ fmt: 0, csid: 2, type: 5, stream: 0 }, [0, 0, 0, 1]), audio([1]));
    feed(audio([1]));
    const before = acks().length;
    for (let count = 0; count < 10; count += 1) feed(audio(pattern(100)));
    expect(acks().length).toBe(before);
    made.feed(second);
    expect(acks().length).toBe(before + 1);
  });
});
