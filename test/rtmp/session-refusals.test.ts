import { describe, expect, it } from 'vitest';
import type { PublishRefusal } from '../../core/ports/media.ts';
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

const refusal = (reason: PublishRefusal['reason']): PublishRefusal => ({
  granted: false,
  reason,
  message: 'No.',
});

describe('a publish that breaks a rule', () => {
  it('is told which', async () => {
    const { feed, replies, closed, written } = await publishing();
    feed(chunk({ fmt: 0, csid: 6, length: 0xffffff }, pattern(128)));
    expect(replies().codes.at(-1)).toBe('NetStream.Publish.Rejected');
    expect(Buffer.from(written).includes('a message is larger than the limit')).toBe(true);
    expect(closed()).toBe(1);
  });
});

describe('a refusal', () => {
  it.each([
    ['unauthorized', 'NetStream.Publish.Unauthorized'],
    ['rejected', 'NetStream.Publish.Rejected'],
    ['unavailable', 'NetStream.Failed'],
  ] as const)('%s is told as %s, and nothing after it is parsed', async (reason, code) => {
    let now = 0;
    const { handlers, sinks, ends, requests } = recordingHandlers(async () => refusal(reason));
    const { feed, replies, session: made, closed, ended } = session({ handlers, now: () => now });
    feed(opening, video([1]), publish('secret'), video([2]));
    await settle();
    feed(video([3]), publish('another'), Array(500_000).fill(0));
    await settle();
    expect(replies().codes.at(-1)).toBe(code);
    expect([sinks.length, ends.length, requests.length, closed()]).toEqual([0, 0, 1, 0]);
    now = 2000;
    made.sweep(now);
    expect(closed()).toBe(1);
    expect(ended.length).toBe(1);
    expect(JSON.stringify(ended)).not.toContain('secret');
  });

  it('follows when authorise or attach throws, at once or later', async () => {
    const fault = new Error('store is down');
    const failing = later();
    const first = session({ handlers: failing.handlers });
    first.feed(opening, publish(), video([1]));
    failing.fail(fault);
    const thrower = recordingHandlers(() => {
      throw fault;
    });
    const second = session({ handlers: thrower.handlers });
    second.feed(opening, publish(), video([1]));
    const unattached = recordingHandlers();
    unattached.handlers.attach = () => {
      throw fault;
    };
    const third = session({ handlers: unattached.handlers });
    third.feed(opening, publish(), video([1]));
    await settle();
    for (const { replies, ended } of [first, second, third]) {
      expect(replies().codes.at(-1)).toBe('NetStream.Failed');
      expect(ended).toEqual([
        { reason: expect.stringMatching(/^the publish was refused: unavailable: /), error: fault },
      ]);
    }
    expect([failing.ends.length, thrower.ends.length]).toEqual([0, 0]);
    expect(unattached.ends.map(({ clean, by }) => [clean, by])).toEqual([[false, 'server']]);
  });

  it.each([
    ['another application', 'vod', 'abcd', 'does not name the app "live"'],
    ['a path as application', '../../x', 'abcd', 'does not name the app "live"'],
    ['no application', '', 'abcd', 'does not name the app "live"'],
    ['the key in the place of the application', 'secret-key', '', 'does not name the app "live"'],
    ['no key', 'live', '', 'The stream key is missing. Publish to rtmp://<host>/live/<streamKey>;'],
    ['a query in the place of the key', 'live', '?x=y', 'The stream key is missing.'],
    ['an endless key', 'live', 'k'.repeat(257), 'This stream key is unknown'],
  ])('meets %s without asking, and says what is wrong to encoder and log', async (_, app, key, problem) => {
    const { handlers, requests } = recordingHandlers();
    const { feed, replies, ended } = session({ handlers });
    feed(handshake, command(['connect', 1, { app }]), createStream, publish(key));
    await settle();
    expect(replies().codes.at(-1)).toBe('NetStream.Publish.Unauthorized');
    const [info] = replies()
      .said.slice(-1)
      .map(({ values }) => values.at(-1));
    const { description } = info as { description: string };
    expect(description).toContain(problem);
    expect(ended).toMatchObject([{ reason: `the publish was refused: unauthorized: ${description}` }]);
    // It may be a stream key in the wrong place.
    expect(description).not.toContain('secret-key');
    expect(requests).toEqual([]);
  });

  it('takes the applications of plugins, which the owner is told, and names live to others', async () => {
    const { handlers, requests } = recordingHandlers();
    for (const app of ['app', 'live', 'a/b/']) {
      const { feed } = session({ handlers, apps: ['app', 'a/b'] });
      feed(handshake, command(['connect', 1, { app }]), createStream, publish('key'));
    }
    await settle();
    expect(requests.map(({ app, key }) => [app, key])).toEqual([
      ['app', 'key'],
      ['live', 'key'],
      ['a/b', 'key'],
    ]);
    const { feed, ended } = session({ handlers, apps: ['app'] });
    feed(handshake, command(['connect', 1, { app: 'secret-key' }]), createStream, publish(''));
    await settle();
    expect(ended).toMatchObject([
      { reason: expect.stringContaining('does not name the app "live" or another one of this server.') },
    ]);
    expect(requests).toHaveLength(3);
  });

  it('meets an owner that does not answer, and hears it when it does', async () => {
    const { handlers, ends, answer, sinks } = later();
    const { feed, replies, session: made } = session({ handlers });
    feed(opening, publish());
    made.sweep(9_999);
    expect(replies().codes.length).toBe(1);
    made.sweep(10_000);
    expect(replies().codes.at(-1)).toBe('NetStream.Failed');
    answer(grantOf('t'));
    await settle();
    expect([sinks.length, ends.map(({ clean, by }) => [clean, by])]).toEqual([0, [[false, 'server']]]);
  });

  it('meets play', async () => {
    const { handlers, heard } = recordingHandlers();
    const { feed, replies, session: made, closed } = session({ handlers });
    feed(opening, command(['play', 5, null, 'abcd'], { stream: 1 }), video([1]), audio([1]));
    expect(replies().codes.at(-1)).toBe('NetStream.Play.Failed');
    made.sweep(2000);
    expect([closed(), heard().length]).toEqual([1, 0]);
  });
});

describe('a peer that breaks the rules', () => {
  it.each([
    ['C0 is not 3', [6]],
    ['publish before connect', [...handshake, ...publish()]],
    ['createStream before connect', [...handshake, ...createStream]],
    ['connect twice', [...handshake, ...connect, ...connect]],
    ['publish without a name', [...opening, ...command(['publish', 5, null], { stream: 1 })]],
    ['publish with a name that is no string', [...opening, ...publish(5)]],
    ['publish with nothing', [...opening, ...command(['publish'])]],
    ['empty command', [...handshake, ...message({ fmt: 0, csid: 3, type: 20 }, [])]],
    ['empty AMF3 command', [...handshake, ...message({ fmt: 0, csid: 3, type: 17 }, [])]],
    ['command without a name', [...handshake, ...command([5, 1])]],
    ['zero-length chunk size', [...handshake, ...message({ fmt: 0, csid: 2, type: 1 }, [])]],
    ['9 message streams', [...handshake, ...connect, ...Array(9).fill(createStream).flat()]],
    [
      '51 commands',
      [
        ...handshake,
        ...connect,
        ...Array(50)
          .fill(command(['_checkbw', 1, null]))
          .flat(),
      ],
    ],
    ['51 pings', [...handshake, ...Array(51).fill(ping).flat()]],
    [
      'bytes without a publish',
      [
        ...opening,
        ...chunk({ fmt: 0, csid: 6, length: 2_000_000 }),
        ...Array(9000)
          .fill(message({ fmt: 3, csid: 6 }, pattern(128)))
          .flat(),
      ],
    ],
  ])('is closed: %s', async (_, bytes) => {
    const { handlers, sinks, requests } = recordingHandlers();
    const { feed, closed, ended, session: made } = session({ handlers });
    feed(bytes);
    await settle();
    expect([closed(), ended.length, ended[0].error]).toEqual([1, 1, undefined]);
    feed(video([1]));
    made.sweep(1e9);
    made.disconnected();
    expect([closed(), ended.length, sinks.length, requests.length]).toEqual([1, 1, 0, 0]);
  });

  it('may send 50 commands in every 10 seconds', () => {
    let now = 0;
    const { handlers } = recordingHandlers();
    const { feed, closed } = session({ handlers, now: () => now });
    feed(handshake, connect);
    for (let round = 0; round < 5; round += 1) {
      feed(
        Array(49)
          .fill(command(['_checkbw', 1, null]))
          .flat(),
      );
      now += 10_000;
    }
    expect(closed()).toBe(0);
  });

  it('has ten seconds to publish, and as long again after a publish', async () => {
    const silent = session({ handlers: recordingHandlers().handlers });
    silent.feed(handshake.slice(0, 10));
    silent.session.sweep(9_999);
    expect(silent.closed()).toBe(0);
    silent.feed(handshake.slice(10));
    silent.session.sweep(10_000);
    expect(silent.closed()).toBe(1);

    const { feed, sweep, closed } = await publishing();
    for (let second = 0; second < 60; second += 1) {
      feed(audio([1]));
      sweep(1000);
    }
    feed(unpublish);
    sweep(9_000);
    expect(closed()).toBe(0);
    sweep(1_000);
    expect(closed()).toBe(1);
  });

  it('loses its publish after ten seconds of silence, uncleanly', async () => {
    const { feed, sweep, ends, closed } = await publishing();
    for (let second = 0; second < 30; second += 1) {
      feed(audio([1]));
      sweep(1000);
    }
    sweep(9_000);
    expect(ends).toEqual([]);
    sweep(1_000);
    expect(ends.map(({ clean, by }) => [clean, by])).toEqual([[false, 'encoder']]);
    expect(closed()).toBe(1);
  });
});
