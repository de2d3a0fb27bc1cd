/** Pushes through what is worst for them: targets that stall, and the death of the server. */
import { describe, expect, test } from 'vitest';
import { memoryEnv } from '../e2e/harness/memory.ts';
import { numbered } from '../e2e/harness/numbered.ts';
import { startServer } from '../e2e/harness/server.ts';
import { lasting, until } from '../e2e/harness/wait.ts';
import { startFarSide } from './far-side.ts';
import { hasNginx, startNginx } from './nginx.ts';
import { checkReceived } from './received.ts';
import { stall } from './stall.ts';
import { plain, targetsOf } from './targets.ts';

const MiB = 2 ** 20;

describe.skipIf(!hasNginx)('multistream', () => {
  test.concurrent('two targets stall for 20 s: ingest, the third and memory do not notice, and both go on with a key frame', async () => {
    const queue = 4 * MiB;
    await using server = await startServer({
      env: { ...memoryEnv, MILLRACE_PUSH__QUEUE: String(queue / MiB) },
    });
    await using stalled = await stall(server, { seconds: 20 });
    const { told, sent, ends, memory, jitter, jitterBeside, issues } = stalled;
    const mib = (bytes: number) => `${(bytes / MiB).toFixed(1)} MiB`;
    console.log(
      `jitter ${jitter} ms, beside ${jitterBeside} ms; memory ${mib(memory.before)}, at the end of the stall ${mib(memory.held)}; ` +
        `grew by at most ${mib(memory.most)}, without a stall ${mib(memory.usual)}`,
    );
    expect(ends).toEqual([]);
    expect(plain(told.healthy)).toEqual(['connected', 'disconnected']);
    for (const name of ['frozen', 'paused'] as const)
      expect([name, ...plain(told[name])]).toEqual([name, 'connected', 'error', 'disconnected']);
    expect([stalled.healthy.length, stalled.frozen.length, stalled.paused.length]).toEqual([1, 1, 1]);
    const { runs: healthy } = await checkReceived(stalled.healthy[0]);
    expect([healthy.length, healthy[0][1]]).toEqual([1, sent - 1]);
    for (const received of [stalled.frozen[0], stalled.paused[0].heard]) {
      const { runs } = await checkReceived(received);
      // There was a gap, and behind it all is there again.
      expect(runs.length).toBeGreaterThan(1);
      expect(runs.at(-1)?.[1]).toBe(sent - 1);
    }
    // Whatever disturbs the process disturbs both.
    expect(jitter).toBeLessThan(jitterBeside + 300);
    // They are told of, and nothing else is.
    expect(issues.toSorted()).toEqual([
      expect.stringMatching(/^Multistream target frozen .*pictures are left out/),
      expect.stringMatching(/^Multistream target paused .*pictures are left out/),
    ]);
    // Two full queues, and what a process is unsure of: what it holds, and what it has ever needed.
    expect(memory.held - memory.before).toBeLessThan(2 * queue + 12 * MiB);
    expect(memory.most).toBeLessThan(memory.usual + 2 * queue + 24 * MiB);
  }, 180_000);

  test.concurrent('kill -9 of the server: with the encoder the pushes come back, told of exactly once', async () => {
    await using good = await startNginx({ host: '127.0.0.86' });
    await using far = startFarSide({ host: '127.0.0.87' });
    await using refusing = startFarSide({ host: '127.0.0.88', behaviour: { kind: 'refuses' } });
    await using server = await startServer({
      env: { MILLRACE_PLUGINS__STREAMS__HOLD: '6s', MILLRACE_PLUGINS__STREAMS__RECONNECT_WINDOW: '20s' },
    });
    const events = await server.openEvents();
    const targets = targetsOf(server, events);
    const one = await targets.create('one', { url: good.url('one') });
    const two = await targets.create('two', { url: far.url('two') });
    const no = await targets.create('no', { url: refusing.url('no') });
    const stream = await targets.createStream('survivor', [one, two, no]);
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    const died: number[] = [];
    for (let round = 1; round <= 2; round += 1) {
      for (const target of [one, two]) await targets.ends(target, ['connected'], { within: 60_000 });
      await targets.ends(no, ['error'], { within: 60_000 });
      const heard = () => far.connections('two').at(-1)?.heard.length ?? 0;
      // Once amid it, once when it has just begun.
      if (round === 1) await until('some media', () => heard() > 200, { within: 20_000 });
      await server.kill();
      died.push(encoder.sent);
      for (const target of [one, two]) await targets.ends(target, ['connected'], { within: 1 });
      await server.restart();
      await until('the encoder to be back', () => encoder.firsts.length === round + 1, { within: 30_000 });
      for (const target of [one, two])
        await targets.ends(target, ['connected', 'error', 'disconnected', 'connected'], { within: 60_000 });
    }
    await lasting(2000);
    await encoder.stop();
    for (const target of [one, two]) await targets.ends(target, ['disconnected']);

    const life = ['connected', 'error', 'disconnected'];
    for (const target of [one, two])
      expect(plain(targets.told(target))).toEqual([...life, ...life, 'connected', 'disconnected']);
    // Its reason is the same in each life: it is told at least once, and not more often than once in each.
    const refusals = plain(targets.told(no));
    console.log('told of the one that refuses:', targets.told(no));
    expect(new Set(refusals)).toEqual(new Set(['error']));
    expect(refusals.length).toBeLessThanOrEqual(3);
    expect(await server.api.listSessions(stream.id)).toHaveLength(1);

    const files = good.recordings('one');
    const connections = far.connections('two').filter(({ heard }) => heard.length > 0);
    expect([files.length, connections.length]).toEqual([3, 3]);
    for (const [n, received] of [...files, ...connections.map(({ heard }) => heard)].entries()) {
      const life = n % 3;
      const { runs } = await checkReceived(received, { firsts: encoder.firsts });
      expect(runs).toHaveLength(1);
      expect(runs[0][0]).toBeGreaterThanOrEqual(encoder.firsts[life]);
      if (life < 2) expect(runs[0][1]).toBeLessThan(died[life]);
      else expect(runs[0][1]).toBe(encoder.sent - 1);
    }
  }, 180_000);
});
