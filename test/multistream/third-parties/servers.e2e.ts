/** Broadcasts pushed on to servers of others, good and bad, all on one server of ours; at last what it gave away. */
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { numbered, watch } from '../../e2e/harness/numbered.ts';
import { proxyTo } from '../../e2e/harness/proxy.ts';
import { lasting, until } from '../../e2e/harness/wait.ts';
import { startFarSide } from '../far-side.ts';
import { hasNginx, type Nginx, startNginx } from '../nginx.ts';
import { checkReceived, missing } from '../received.ts';
import { plain } from '../targets.ts';
import {
  answers,
  expectAll,
  far,
  givesNothingAway,
  keep,
  oneServer,
  secrets,
  server,
  targets,
} from './kit.ts';

/** Addresses that nothing else has: whoever finds one in what the server printed knows where it is from. */
const places = {
  good: '127.0.0.71',
  dying: '127.0.0.72',
  far: '127.0.0.73',
  bad: '127.0.0.74',
  private: '10.71.72.73',
};
let good: Nginx;
let dying: Nginx;

describe.skipIf(!hasNginx)('multistream', () => {
  oneServer({ host: places.far });
  beforeAll(async () => {
    [good, dying] = await Promise.all([
      startNginx({ host: places.good }),
      startNginx({ host: places.dying }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([good, dying].map((one) => one?.[Symbol.asyncDispose]()));
  });

  test.concurrent('good and bad servers on one stream: each is told of as it is, and none disturbs another', async () => {
    const secret = secrets();
    await using silent = startFarSide({ host: places.bad, behaviour: { kind: 'silent' } });
    await using refusing = startFarSide({ host: places.bad, behaviour: { kind: 'refuses' } });
    await using rejecting = startFarSide({ host: places.bad, behaviour: { kind: 'refusesConnect' } });
    await using dropping = startFarSide({ host: places.bad, behaviour: { kind: 'drops', afterMs: 8000 } });
    const nobody = await closedPort(places.bad);
    const made = async (name: string, url: string) => targets.create(name, { url });
    const party = {
      good: await made('good', good.url(secret('good'))),
      closed: await made('closed', good.refusingUrl(secret('closed'))),
      dying: await made('dying', dying.url(secret('dying'))),
      silent: await made('silent', silent.url(secret('silent'))),
      refusing: await made('refusing', refusing.url(secret('refusing'))),
      rejecting: await made('rejecting', rejecting.url(secret('rejecting'))),
      dropping: await made('dropping', dropping.url(secret('dropping'))),
      nobody: await made('nobody', `rtmp://${places.bad}:${nobody}/live/${secret('nobody')}`),
      unknown: await made('unknown', `rtmp://unknown-5ecr3t.invalid/live/${secret('unknown')}`),
      private: await made('private', `rtmp://${places.private}/live/${secret('private')}`),
    };
    const stream = await targets.createStream('third parties', Object.values(party));
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    await using viewer = await watch(server.playlistUrl(stream.playbackId));
    await targets.ends(party.good, ['connected']);

    await targets.ends(party.dying, ['connected']);
    await until('pictures there', () => dying.recordings(secret('dying')).length === 1, { within: 10_000 });
    await lasting(3000);
    await dying.kill();
    // The connection breaks, then nobody is there: two reasons.
    await targets.ends(party.dying, ['error', 'disconnected', 'error']);
    await dying.restart();
    await targets.ends(party.dying, ['connected']);

    const failing = ['closed', 'silent', 'refusing', 'rejecting', 'nobody', 'unknown', 'private'] as const;
    for (const name of failing) await targets.ends(party[name], ['error'], { within: 90_000 });
    await until(
      'three connections to be dropped',
      () => dropping.connections(secret('dropping')).length >= 3,
      {
        within: 90_000,
      },
    );
    // More attempts of those that fail: nothing more is told of them.
    await until('more attempts', () => refusing.connections().length >= 4, { within: 60_000 });
    await viewer.moves({ within: 10_000 });
    expect([encoder.ends, viewer.problems]).toEqual([[], []]);
    await encoder.stop();
    for (const name of ['good', 'dying'] as const) await targets.ends(party[name], ['disconnected']);
    await until(
      'all pushes to end',
      () => [refusing, dropping].every((one) => one.connections().every((c) => c.isClosed)),
      {
        within: 20_000,
      },
    );
    await targets.ends(party.dropping, ['disconnected']);

    const told = Object.fromEntries(Object.entries(party).map(([name, one]) => [name, targets.told(one)]));
    answers.push(JSON.stringify(told));
    console.log(told);
    const twice = dropping.connections(secret('dropping')).filter(({ heard }) => heard.length > 0);
    expect(Object.fromEntries(Object.entries(told).map(([name, one]) => [name, plain(one)]))).toEqual({
      good: ['connected', 'disconnected'],
      dying: ['connected', 'error', 'disconnected', 'error', 'connected', 'disconnected'],
      dropping: twice.flatMap((one) =>
        // The last may be ended by the broadcast and not by the server.
        one.end?.clean ? ['connected', 'disconnected'] : ['connected', 'error', 'disconnected'],
      ),
      ...Object.fromEntries(failing.map((name) => [name, ['error']])),
    });

    const [whole, ...others] = good.recordings(secret('good'));
    expect(others).toEqual([]);
    expectAll(await checkReceived(whole), encoder);
    const [before, after] = dying.recordings(secret('dying'));
    const { runs } = await checkReceived(before);
    expect(runs).toHaveLength(1);
    const again = await checkReceived(after);
    expectAll(again, encoder);
    expect(again.runs[0][0]).toBeGreaterThan(runs[0][1]);
    for (const { heard } of twice) expect((await checkReceived(heard)).runs).toHaveLength(1);
    await keep(stream, Object.values(party));
  }, 240_000);

  test.concurrent('targets come, change and go while live, and nothing else notices', async () => {
    const secret = secrets();
    const steady = await targets.create('steady', { url: good.url(secret('steady')) });
    const stream = await targets.createStream('changes', [steady]);
    await using encoder = numbered(server.ingestUrl(stream.streamKey));
    await using viewer = await watch(server.playlistUrl(stream.playbackId));
    await targets.ends(steady, ['connected']);

    const changing = await targets.create('changing', { url: far.url(secret('first')) });
    /** ms from the answer to what was asked until a server is asked, or left; and until the first key frame is there. */
    const took: Record<string, number> = {};
    const step = async (
      what: string,
      act: () => Promise<void>,
      effect: { isSo: () => boolean; hasMedia?: () => boolean },
    ) => {
      await act();
      const answered = performance.now();
      const since = () => Math.round(performance.now() - answered);
      await until(what, effect.isSo, { within: 15_000, every: 5 });
      took[what] = since();
      if (effect.hasMedia === undefined) return;
      await until(`media: ${what}`, effect.hasMedia, { within: 15_000, every: 5 });
      took[`${what}, media`] = since();
    };
    const first = () => far.connections(secret('first'));
    const second = () => far.connections(secret('second'));
    const runs = (list: ReturnType<typeof first>) => list.filter(({ heard }) => heard.length > 0).length;
    const open = (list: ReturnType<typeof first>) => list.filter(({ isClosed }) => !isClosed).length;

    await step('added', () => targets.set(stream, [steady, changing]), {
      isSo: () => first().length === 1,
      hasMedia: () => runs(first()) === 1,
    });
    await targets.ends(changing, ['connected']);
    await step('another url', () => targets.change(changing, { url: far.url(secret('second')) }), {
      isSo: () => second().length === 1 && open(first()) === 0,
      hasMedia: () => runs(second()) === 1,
    });
    await targets.ends(changing, ['disconnected', 'connected']);
    // Another name changes nothing but itself.
    await targets.change(changing, { name: 'renamed' });
    await step('disabled', () => targets.change(changing, { disabled: true }), {
      isSo: () => open(second()) === 0,
    });
    await targets.ends(changing, ['disconnected']);
    await step('enabled', () => targets.change(changing, { disabled: false }), {
      isSo: () => second().length === 2,
      hasMedia: () => runs(second()) === 2,
    });
    await targets.ends(changing, ['connected']);
    await step('removed', () => targets.set(stream, [steady]), { isSo: () => open(second()) === 0 });
    await targets.ends(changing, ['disconnected']);
    const silenced = { ...changing, videoOnly: true };
    await step('video only', () => targets.set(stream, [steady, silenced]), {
      isSo: () => second().length === 3,
      hasMedia: () => runs(second()) === 3,
    });
    await targets.ends(changing, ['connected']);
    await step('deleted', () => targets.delete(changing), { isSo: () => open(second()) === 0 });
    await targets.ends(changing, ['disconnected']);
    await viewer.moves({ within: 10_000 });
    expect([encoder.ends, viewer.problems]).toEqual([[], []]);
    await encoder.stop();
    await targets.ends(steady, ['disconnected']);

    console.log('ms from the answer to the effect:', took);
    expect(plain(targets.told(changing))).toEqual(Array(4).fill(['connected', 'disconnected']).flat());
    expect(targets.told(steady)).toEqual(['connected', 'disconnected']);
    const [whole, ...others] = good.recordings(secret('steady'));
    expect(others).toEqual([]);
    expectAll(await checkReceived(whole), encoder);
    expect([first().length, second().length]).toEqual([1, 3]);
    for (const [n, { heard, end }] of [...first(), ...second()].entries()) {
      expect(end).toMatchObject({ clean: true, by: 'encoder' });
      expect((await checkReceived(heard, { isVideoOnly: n === 3 })).runs).toHaveLength(1);
    }
    await keep(stream, [steady]);
  }, 120_000);

  test.concurrent('the encoder dies and comes back within hold: the pushes stay, and their time goes on', async () => {
    const secret = secrets();
    const pushed = [
      await targets.create('hold, nginx', { url: good.url(secret('hold-nginx')) }),
      await targets.create('hold, far side', { url: far.url(secret('hold-far')) }),
    ];
    const stream = await targets.createStream('hold', pushed);
    await using network = await proxyTo(server.rtmpPort);
    const through = server.ingestUrl(stream.streamKey).replace(`:${server.rtmpPort}/`, `:${network.port}/`);
    await using encoder = numbered(through);
    for (const one of pushed) await targets.ends(one, ['connected']);
    const heard = () => far.connections(secret('hold-far'))[0].heard.length;
    for (let round = 1; round <= 2; round += 1) {
      const before = heard();
      await until('two seconds of media', () => heard() > before + 150, { within: 20_000 });
      network.cut({ forMs: 3000 });
      await until('the encoder to be back', () => encoder.firsts.length === round + 1, { within: 20_000 });
    }
    const before = heard();
    await until('two seconds of media', () => heard() > before + 150, { within: 20_000 });
    await encoder.stop();
    for (const one of pushed) await targets.ends(one, ['disconnected']);
    for (const one of pushed) expect(targets.told(one)).toEqual(['connected', 'disconnected']);

    const [connection, ...more] = far.connections(secret('hold-far'));
    const [file, ...files] = good.recordings(secret('hold-nginx'));
    expect([more, files]).toEqual([[], []]);
    const { firsts, sent } = encoder;
    for (const received of [connection.heard, file]) {
      const { runs } = await checkReceived(received, { firsts });
      // What was on its way when the network was cut is gone; what came back is there from its first picture on.
      for (const first of firsts.slice(1))
        expect(runs.some(([from, to]) => from <= first && first <= to)).toBe(true);
      expect(runs.at(-1)?.[1]).toBe(sent - 1);
      expect(missing(runs)).toBeLessThan(2 * 60);
    }
    await keep(stream, pushed);
  }, 120_000);

  givesNothingAway(() => [...Object.values(places), `:${good.port}`, `:${dying.port}`]);
});

/** A port of this address on which nobody listens. */
async function closedPort(host: string): Promise<number> {
  const one = createServer();
  await new Promise<void>((resolve) => one.listen(0, host, resolve));
  const { port } = one.address() as { port: number };
  await new Promise((resolve) => one.close(resolve));
  return port;
}
