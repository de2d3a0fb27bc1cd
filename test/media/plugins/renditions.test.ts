import { expect, onTestFinished, test } from 'vitest';
import type {
  OfferedRendition,
  PublishedBroadcast,
  RenditionOptions,
  RenditionRun,
} from '../../../core/plugin/media.ts';
import { AVC_240P, Feed, play, send, sendHeaders, videoHeader } from '../../hls/feed.ts';
import { Viewer } from '../../hls/viewer.ts';
import { expectAligned } from '../renditions/aligned.ts';
import { profileOf, ScriptedMaker, settled } from '../renditions/kit.ts';
import { ScriptedProcess } from '../renditions/process.ts';
import { watched } from './kit.ts';

/** As an encoder does it. */
async function encode(run: RenditionRun): Promise<void> {
  const process = new ScriptedProcess({ profiles: [profileOf('plain')], from: run.from });
  for await (const bytes of run.media) run.write(process.read(bytes));
  run.write(process.finish());
}

const plain: RenditionOptions = { name: 'plain', width: 640, height: 360, bitrate: 600_000, encode };

/** A broadcast of which a plugin makes a rendition, with a viewer of each playlist. */
function given(options: { change?: Partial<RenditionOptions>; isWanted?: () => boolean } = {}) {
  const { change, isWanted = () => true } = options;
  const broadcasts: PublishedBroadcast[] = [];
  const offered: OfferedRendition[] = [];
  const made = watched({
    overlay: (broadcast) => {
      broadcasts.push(broadcast);
      if (isWanted()) offered.push(broadcast.rendition({ ...plain, ...change }));
      return undefined;
    },
  });
  const { feed } = made;
  onTestFinished(() => void feed.output.end());
  const viewers = ['source.m3u8', 'r1.m3u8'].map((playlist) => new Viewer(feed, { playlist }));
  const look = async () => {
    await settled();
    for (const viewer of viewers) await viewer.look();
  };
  let publishes = 0;
  const publish = async (seconds: number, after: () => Promise<void> = look) => {
    const publisher = feed.attach({ discontinuitySequence: publishes++ });
    sendHeaders(publisher.sink);
    await play(feed, publisher.sink, { seconds, after });
    return publisher;
  };
  const variants = async () =>
    (await feed.text('index.m3u8')).split('\n').filter((line) => line.endsWith('.m3u8'));
  return { ...made, broadcasts, offered, source: viewers[0], rendition: viewers[1], look, publish, variants };
}

test('a rendition of a plugin has the segments, parts, times and sound of the source', async () => {
  const { feed, source, rendition, look, publish, variants, lines } = given();
  const { sink, grant } = await publish(8);
  expect(await variants()).toEqual(['source.m3u8', 'r1.m3u8']);
  expect(await feed.text('index.m3u8')).toMatch(/RESOLUTION=640x360,FRAME-RATE=30.000\nr1.m3u8$/m);
  // Other settings of the encoder: another run.
  send(sink, 9, 8000, videoHeader(AVC_240P));
  await play(feed, sink, { seconds: 6, from: 8000, after: look });
  feed.output.detach(grant.token);
  await look();
  expectAligned(rendition, source);
  expect(rendition.samples(1).length).toBeGreaterThan(350);
  expect(lines).toEqual([]);
});

test('it goes on when the encoder comes back, and is gone when the plugin does not offer it again', async () => {
  let isWanted = true;
  const { feed, source, rendition, publish, variants, look } = given({ isWanted: () => isWanted });
  const first = await publish(6);
  feed.output.detach(first.grant.token);
  await look();
  expect(await variants()).toEqual(['source.m3u8', 'r1.m3u8']);
  const second = await publish(6);
  feed.output.detach(second.grant.token);
  await look();
  expectAligned(rendition, source);
  expect(new Set(rendition.segments.map(({ discontinuities }) => discontinuities)).size).toBe(2);
  isWanted = false;
  await publish(3);
  expect(await variants()).toEqual(['source.m3u8']);
  expect((await feed.output.serve('r1.m3u8')).status).toBe(404);
  isWanted = true;
  // It begins anew: whoever had played it was answered 404.
  await publish(6, () => settled(1));
  expect(await variants()).toEqual(['source.m3u8', 'r1.m3u8']);
});

test('it stands beside the renditions of the transcoder, in a playlist of its own', async () => {
  const maker = new ScriptedMaker();
  const made = watched({ overlay: (broadcast) => void broadcast.rendition(plain) as undefined });
  const feed = new Feed({}, undefined, maker, made.media);
  onTestFinished(() => void feed.output.end());
  const publish = async (profiles: string[]) => {
    const { sink, grant } = feed.attach({ profiles: profiles.map((name) => profileOf(name)) });
    sendHeaders(sink);
    await play(feed, sink, { seconds: 6, after: () => settled(1) });
    await settled();
    const names = (await feed.text('index.m3u8')).split('\n').filter((line) => line.endsWith('.m3u8'));
    feed.output.detach(grant.token);
    return names;
  };
  expect(await publish(['a', 'b'])).toEqual(['source.m3u8', 'r1.m3u8', 'r2.m3u8', 'r3.m3u8']);
  // Two more of the transcoder do not take its name.
  expect(await publish(['a', 'b', 'c', 'd'])).toEqual([
    ...['source.m3u8', 'r1.m3u8', 'r2.m3u8', 'r4.m3u8', 'r5.m3u8', 'r3.m3u8'],
  ]);
});

test('a plugin that fails is asked again, and given up after five times; the source goes on', async () => {
  for (const broken of [
    async () => {
      throw new Error('a defect');
    },
    async () => {},
    async ({ media, write }: RenditionRun) => {
      for await (const bytes of media) write(bytes);
    },
    async ({ media, write }: RenditionRun) => {
      for await (const _ of media) write(new Uint8Array(100).fill(7));
    },
  ]) {
    let calls = 0;
    const { feed, source, publish, variants, lines, look } = given({
      change: {
        encode: (run) => {
          calls += 1;
          return broken(run);
        },
      },
    });
    const { sink, fatal } = await publish(40);
    expect(calls).toBe(5);
    const warnings = lines.filter((line) => line.startsWith('warn a plugin failed to make a rendition'));
    expect(warnings.map((line) => /"isGivenUp":true/.test(line))).toEqual([false, false, false, false, true]);
    expect(await variants()).toEqual(['source.m3u8']);
    await play(feed, sink, { seconds: 2, from: 40_000, after: look });
    expect([fatal, source.samples(1).length > 1100, calls]).toEqual([[], true, 5]);
    expect((await feed.output.serve('r1.m3u8')).status).toBe(404);
  }
});

test('a plugin that fails once begins again with what follows', async () => {
  let calls = 0;
  const { source, rendition, publish, look, feed } = given({
    change: {
      async encode(run) {
        calls += 1;
        if (calls > 1) return encode(run);
        const process = new ScriptedProcess({ profiles: [profileOf('plain')], from: run.from });
        let parts = 0;
        for await (const bytes of run.media) {
          run.write(process.read(bytes));
          parts += 1;
          if (parts === 12) throw new Error('a defect');
        }
      },
    },
  });
  const { grant } = await publish(14);
  feed.output.detach(grant.token);
  await look();
  expect(calls).toBe(2);
  expectAligned(rendition, source);
});

test('it ends when it is closed, and its run with it; the name can be offered again', async () => {
  const runs: RenditionRun[] = [];
  const { feed, offered, publish, variants, broadcasts, look } = given({
    change: {
      encode(run) {
        runs.push(run);
        return encode(run);
      },
    },
  });
  const { sink } = await publish(5);
  expect(await variants()).toHaveLength(2);
  offered[0].close();
  await settled();
  expect([await variants(), runs[0].signal.aborted]).toEqual([['source.m3u8'], true]);
  expect(() => runs[0].write(new Uint8Array(5))).not.toThrow();
  const again = broadcasts[0].rendition(plain);
  offered[0].close();
  await play(feed, sink, { seconds: 6, from: 5000, after: look });
  expect(await variants()).toEqual(['source.m3u8', 'r1.m3u8']);
  again.close();
});

test('what no rendition can be is refused, and a fifth rendition', async () => {
  const { feed, broadcasts } = given();
  feed.attach();
  const [broadcast] = broadcasts;
  const refuses = (change: object) =>
    expect(() => broadcast.rendition({ ...plain, name: 'other', ...change } as never)).toThrow(RangeError);
  for (const name of ['', 'a"b', 'plain', 5]) refuses({ name });
  for (const side of [0, 1, -2, 8193, 2.5, Number.NaN, '640', undefined]) {
    refuses({ width: side });
    refuses({ height: side });
  }
  for (const bitrate of [0, 999, 2e9, Number.NaN, '600000']) refuses({ bitrate });
  for (const frameRate of [0, -1, 241, Number.NaN]) refuses({ frameRate });
  refuses({ encode: 'x' });
  for (const name of ['2', '3', '4']) broadcast.rendition({ ...plain, name });
  refuses({ name: '5' });
});
