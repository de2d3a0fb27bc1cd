import { describe, expect, it, test } from 'vitest';
import { cidr } from '../../../core/base/cidr.ts';
import { jsonLog } from '../../../core/base/log.ts';
import type { PushTrouble } from '../../../core/ports/pusher.ts';
import type { Lookup } from '../../../runtime/drivers/outbound/resolver.ts';
import { libavformat } from '../../../runtime/media/ffmpeg/about.ts';
import type { PushConnection } from '../../../runtime/media/push/connection.ts';
import { srtPush } from '../../../runtime/media/push/srt/srt-push.ts';
import { scriptedFfmpeg } from '../../kit/scripted-ffmpeg.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

const good = 'srt://stream.example:9000?streamid=my-key-1&passphrase=wonderland-9&latency=300';

/** One attempt to push, and all that came of it. */
async function attempt(
  options: Parameters<typeof scriptedFfmpeg>[0] & { url?: string; lookup?: Lookup; allow?: string[] } = {},
) {
  const { url = good, lookup = async () => ['203.0.114.5'], allow = [] } = options;
  const clock = virtualClock({ start: 0 });
  const lines: string[] = [];
  const log = jsonLog({ level: 'debug', now: () => 0, write: (line) => lines.push(line) });
  const runner = scriptedFfmpeg(options);
  const open = srtPush({ clock, log, runner, lookup, allow: allow.flatMap((text) => cidr(text) ?? []) });
  const heard: (string | PushTrouble)[] = [];
  const state: { connection?: PushConnection } = {};
  const again = async () => {
    const opening = open(url, {
      onOpen(connection) {
        heard.push('open');
        state.connection = connection;
      },
      onAccepted: () => void heard.push('accepted'),
      onDrain: () => void heard.push('drain'),
      onEnd: (trouble) => void heard.push(trouble),
    });
    expect(heard).toEqual([]);
    await clock.advance(0);
    return opening;
  };
  const opening = await again();
  const process = () => runner.started.at(-1)!;
  const connection = () => state.connection!;
  return { clock, lines, runner, heard, opening, again, process, connection };
}

const report = 'frame=0\nprogress=continue\n';
const keyFrame = Uint8Array.of(0x17, 1, 0, 0, 0, 7);

describe('a connection', () => {
  it('is opened unaccepted, and accepted when ffmpeg reports', async () => {
    const { heard, connection, process, clock } = await attempt();
    expect(heard).toEqual(['open']);
    expect(connection().isAccepted).toBe(false);
    connection().write(connection().framing.preamble);
    await clock.advance(5000);
    expect(heard).toEqual(['open']);
    process().say(report);
    process().say(report);
    await clock.advance(600_000);
    expect(heard).toEqual(['open', 'accepted']);
  });

  it('hands on what ffmpeg takes, and says when it takes more', async () => {
    const { heard, connection, process } = await attempt();
    process().room = 4;
    expect(connection().write(new Uint8Array(10))).toBe(4);
    expect(connection().write(new Uint8Array(6))).toBe(0);
    process().room = 100;
    process().drain();
    expect(heard).toEqual(['open', 'drain']);
    expect(connection().write(new Uint8Array(6))).toBe(6);
  });

  it('gives ffmpeg the address that was checked, and what is secret where nobody sees it', async () => {
    const { process } = await attempt({ lookup: async () => ['2606:4700::1'] });
    const { command } = process().order;
    expect(command.output.target).toBe('srt://[2606:4700::1]:9000');
    expect(process().order.niceness).toBe(5);
    expect(command.output.hidden).toEqual({
      ...{ mode: 'caller', transtype: 'live', connect_timeout: 5000, timeout: 8_000_000, latency: 300_000 },
      ...{ srt_streamid: 'my-key-1', passphrase: 'wonderland-9', enforced_encryption: 1 },
    });
    const seen = JSON.stringify({ ...command, output: { ...command.output, hidden: {} } });
    expect(seen).not.toMatch(/my-key|wonderland|stream\.example/);
  });

  it('takes another address of the name after one that did not answer', async () => {
    const addresses = ['203.0.114.5', '203.0.114.6'];
    const { heard, again, process } = await attempt({ lookup: async () => addresses });
    const targets = [process().order.command.output.target];
    await process().exit({ errors: 'Connection to srt://*** failed: Input/output error' });
    heard.length = 0;
    await again();
    targets.push(process().order.command.output.target);
    expect(targets).toEqual(['srt://203.0.114.5:9000', 'srt://203.0.114.6:9000']);
  });

  it('is left when what was sent has been played out, and then says nothing more', async () => {
    const { heard, connection, process, clock } = await attempt();
    connection().write(connection().framing.preamble);
    process().say(report);
    connection().leave();
    expect(connection().write(new Uint8Array(5))).toBe(0);
    await clock.advance(540);
    expect(process().calls).toEqual([]);
    await clock.advance(20);
    expect(process().calls).toEqual(['end']);
    await process().exit({ code: 0 });
    expect(heard).toEqual(['open', 'accepted']);
  });

  it('is left at once when the server never said yes', async () => {
    const { heard, connection, process } = await attempt();
    connection().leave();
    expect(process().calls).toEqual(['kill']);
    await process().exit({});
    expect(heard).toEqual(['open']);
  });

  it.each(['before it runs', 'behind it'])('is aborted %s, and nothing is told', async (when) => {
    let answer = (_: string[]) => {};
    const slow = new Promise<string[]>((resolve) => {
      answer = resolve;
    });
    const isBefore = when === 'before it runs';
    const { heard, opening, process, clock, runner } = await attempt(isBefore ? { lookup: () => slow } : {});
    heard.length = 0;
    opening.abort();
    answer(['203.0.114.5']);
    await clock.advance(60_000);
    if (isBefore) expect(runner.started).toEqual([]);
    else expect(process().calls).toEqual(['kill']);
    expect(heard).toEqual([]);
  });
});

describe('a failure', () => {
  const libsrt = 'SRT.cn: processAsyncConnectRequest: REJECT reported from HS processing:';
  test.each([
    [`${libsrt} Incorrect passphrase - not processing further`, 'rejected', 'refused the passphrase'],
    [`${libsrt} Password required or unexpected - not processing`, 'rejected', 'wants a passphrase'],
    [`${libsrt} Application-defined rejection reason - not processing`, 'rejected', 'streamid'],
    ['[srt @ 0x1] Connection to srt://*** failed: Input/output error', 'connect', 'did not answer'],
    ['[srt @ 0x1] Connection to srt://*** failed: Network is unreachable', 'connect', 'cannot be reached'],
    ['srt://***: Protocol not found', 'unsupported', 'cannot speak SRT'],
    ['Could not write header for output file #0', 'protocol', 'could not make'],
  ])('that ffmpeg calls "%s" is %s', async (errors, reason, says) => {
    const { heard, process, lines } = await attempt();
    await process().exit({ errors });
    expect(heard).toEqual(['open', { reason, message: expect.stringContaining(says) }]);
    expect(lines.join()).not.toMatch(/my-key|wonderland|stream\.example|203\.0/);
  });

  it('of a connection that was accepted is that it was closed', async () => {
    const { heard, process } = await attempt();
    process().say(report);
    await process().exit({ errors: 'av_interleaved_write_frame(): Input/output error, REJECT' });
    expect(heard).toEqual(['open', 'accepted', { reason: 'closed', message: expect.any(String) }]);
  });

  it('is told of an ffmpeg that takes media and never connects, which is killed', async () => {
    const { heard, process, connection, clock } = await attempt();
    await clock.advance(60_000);
    expect(heard).toEqual(['open']);
    connection().write(connection().framing.preamble);
    await clock.advance(12_001);
    expect(process().calls).toEqual(['kill']);
    expect(heard).toEqual(['open', { reason: 'timeout', message: expect.stringContaining('12 s') }]);
    process().say(report);
    await process().exit({});
    expect(heard).toHaveLength(2);
  });

  it('is told of a codec that this ffmpeg cannot read', async () => {
    const { heard, process, connection, clock } = await attempt({
      about: { libavformat: libavformat(59, 27) },
    });
    const { framing } = connection();
    const body = Uint8Array.of(0x90, 0x68, 0x76, 0x63, 0x31, 1);
    expect(framing.write(new Uint8Array(100), 0, 9, 0, body, 0, body.length)).toBe(0);
    expect(heard).toEqual(['open']);
    await clock.advance(0);
    expect(heard[1]).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('H.265') });
    expect(process().calls).toEqual(['kill']);
  });

  test.each([
    [{ about: 'missing' as const }, 'unsupported', 'not installed'],
    [{ about: { protocols: new Set(['pipe']) } }, 'unsupported', 'without SRT'],
    [{ refuses: 'full' as const }, 'full', 'Too many'],
    [{ refuses: 'unsure' as const }, 'unsupported', 'not known'],
    [{ refuses: 'failed' as const }, 'unsupported', 'could not be started'],
    [{ url: 'srt://stream.example:9000?mode=listener' }, 'url', 'mode'],
    [
      { lookup: async () => ['203.0.114.5', '10.0.0.1'] },
      'forbidden',
      'The server stands for a private address, which outbound.allow does not open.',
    ],
    [{ url: 'srt://127.0.0.1:9000' }, 'forbidden', 'The server is a loopback address, which outbound.allow'],
    [{ url: 'srt://localhost:9000' }, 'forbidden', 'The server is a loopback address, which outbound.allow'],
    [{ lookup: async () => [] }, 'dns', 'The server: its name could not be resolved.'],
    [
      { lookup: () => Promise.reject(new Error('stream.example: no such name')) },
      'dns',
      'could not be resolved',
    ],
  ])('for %o is %s', async (options, reason, says) => {
    const { heard, lines, runner } = await attempt(options);
    expect(heard).toEqual([{ reason, message: expect.stringContaining(says) }]);
    expect(runner.started).toEqual([]);
    expect(JSON.stringify(heard) + lines.join()).not.toMatch(/my-key|wonderland|stream\.example|127\.0/);
  });
});

it('writes pictures that ffmpeg can read', async () => {
  const { connection } = await attempt({ allow: ['127.0.0.0/8'], url: 'srt://127.0.0.1:9000' });
  const { framing } = connection();
  const out = new Uint8Array(100);
  const end = framing.write(out, 0, 9, 40, keyFrame, 0, keyFrame.length);
  expect([...out.subarray(11, end - 4)]).toEqual([...keyFrame]);
});
