import { expect, test } from 'vitest';
import type {
  MediaPart,
  MediaSample,
  MediaSubscriber,
  PublishedBroadcast,
  SampleConfig,
} from '../../../core/plugin/media.ts';
import { readFragments } from '../../hls/boxes.ts';
import {
  AAC_48000_STEREO,
  AVC_240P,
  AVC_360P,
  play,
  send,
  sendHeaders,
  videoHeader,
} from '../../hls/feed.ts';
import { Viewer } from '../../hls/viewer.ts';
import { watched } from './kit.ts';

/** Keeps a copy of all that it is given. */
function witness() {
  const seen = {
    broadcasts: [] as PublishedBroadcast[],
    inits: [] as Uint8Array[],
    parts: [] as (MediaPart & { bytes: Uint8Array })[],
    configs: [] as SampleConfig[],
    samples: [] as (MediaSample & { parts: number })[],
    ends: 0,
  };
  const open = (broadcast: PublishedBroadcast): MediaSubscriber => {
    seen.broadcasts.push(broadcast);
    return {
      begin: ({ bytes }) => void seen.inits.push(bytes.slice()),
      part: (bytes, part) => void seen.parts.push({ ...part, bytes: bytes.slice() }),
      configure: (config) => void seen.configs.push({ ...config, bytes: config.bytes.slice() }),
      sample: (sample) =>
        void seen.samples.push({
          ...sample,
          ...{ bytes: sample.bytes.slice(), parts: seen.parts.length },
        }),
      end: () => {
        seen.ends += 1;
      },
    };
  };
  return { seen, open };
}

test('a plugin sees the parts that viewers get, the samples that the encoder sent, and the end', async () => {
  const { seen, open } = witness();
  const { feed } = watched({ one: open });
  const { sink, grant } = feed.attach({ account: 'a', fields: { note: 'Final' } });
  const viewer = new Viewer(feed);
  sendHeaders(sink);
  await play(feed, sink, { seconds: 7, cts: (index) => (index % 3) * 33, after: () => viewer.look() });
  feed.output.detach(grant.token);
  await viewer.look();

  const [broadcast] = seen.broadcasts;
  expect(broadcast).toMatchObject({ streamId: 's', sessionId: 'x', playbackId: 'p', account: 'a' });
  expect(broadcast.fields).toEqual({ note: 'Final' });
  expect([seen.broadcasts.length, seen.inits.length, seen.ends]).toEqual([1, 1, 1]);
  expect(Buffer.from(seen.inits[0]).equals(viewer.fetched.get(viewer.segments[0].map) as Uint8Array)).toBe(
    true,
  );
  const segments = viewer.segments.map(({ uri }) => viewer.fetched.get(uri) as Uint8Array);
  expect(Buffer.concat(seen.parts.map(({ bytes }) => bytes)).equals(Buffer.concat(segments))).toBe(true);
  expect(seen.parts.filter(({ startsSegment }) => startsSegment)).toHaveLength(segments.length);
  for (const { bytes, time, duration, isIndependent } of seen.parts) {
    const [{ runs }] = readFragments(bytes);
    const video = runs.find(({ track }) => track === 1);
    expect(time * 90).toBeCloseTo(video?.start ?? Number.NaN, 3);
    expect((time + duration) * 90).toBeCloseTo(video?.end ?? Number.NaN, 3);
    expect(isIndependent).toBe(video?.samples.some(({ isSync }) => isSync));
  }

  expect(seen.configs).toEqual([
    { track: 'video', codec: 'avc1.64001e', bytes: AVC_360P, width: 640, height: 360 },
    { track: 'audio', codec: 'mp4a.40.2', bytes: AAC_48000_STEREO, sampleRate: 48_000, channels: 2 },
  ]);
  for (const [track, name] of [
    [1, 'video'],
    [2, 'audio'],
  ] as const) {
    const given = seen.samples.filter((sample) => sample.track === name);
    const cut = viewer.samples(track);
    expect(given).toHaveLength(cut.length);
    for (const [index, { bytes, size, isKey, shift }] of given.entries()) {
      expect(size).toBe(bytes.length);
      expect(Buffer.from(bytes).equals(cut[index].bytes)).toBe(true);
      expect([isKey, shift]).toEqual([cut[index].isSync, cut[index].cts / 90]);
    }
    // On the timeline of the playlist, to the rounding of a frame of sound.
    const starts = viewer.runs.filter((run) => run.track === track).map(({ start }) => start);
    const scale = track === 1 ? 90 : 48;
    for (const start of starts)
      expect(given.some(({ time }) => Math.abs(time - start / scale) <= 1)).toBe(true);
    expect(given.every(({ time }, i) => i === 0 || time >= given[i - 1].time)).toBe(true);
  }
});

test('another publish, and another header, are begun anew', async () => {
  const { seen, open } = witness();
  const { feed } = watched({ one: open });
  const first = feed.attach();
  sendHeaders(first.sink);
  await play(feed, first.sink, { seconds: 3 });
  send(first.sink, 9, 3000, videoHeader(AVC_240P));
  await play(feed, first.sink, { seconds: 3, from: 3000 });
  expect(seen.inits).toHaveLength(2);
  expect(seen.configs.map(({ track }) => track)).toEqual(['video', 'audio', 'video']);
  const second = feed.attach({ sessionId: 'y' });
  expect(seen.ends).toBe(1);
  sendHeaders(second.sink);
  await play(feed, second.sink, { seconds: 3 });
  expect(seen.broadcasts.map(({ sessionId }) => sessionId)).toEqual(['x', 'y']);
  expect(seen.inits).toHaveLength(3);
  expect(seen.parts.every(({ time }, i) => i === 0 || time > seen.parts[i - 1].time)).toBe(true);
});

test.each(['media', 'begin', 'part', 'configure', 'sample', 'end', 'promise', 'nonsense'] as const)(
  'a plugin that throws in %s loses its subscription, and nothing else changes',
  async (where) => {
    const { seen, open } = witness();
    let calls = 0;
    const fail = (name: string) => () => {
      if (name !== where) return undefined;
      calls += 1;
      throw new Error('a defect');
    };
    const broken = (broadcast: PublishedBroadcast): MediaSubscriber => {
      broadcast.issue('something');
      broadcast.textTrack({ name: 'English', language: 'en' });
      if (where === 'media') fail('media')();
      if (where === 'nonsense') return 5 as never;
      const part = async () => {
        calls += 1;
        throw new Error('a defect');
      };
      return {
        begin: fail('begin'),
        configure: fail('configure'),
        sample: fail('sample'),
        end: fail('end'),
        part: where === 'promise' ? part : fail('part'),
      };
    };
    const { feed, lines, counted } = watched({ broken, good: open });
    const { sink, grant, fatal } = feed.attach();
    const viewer = new Viewer(feed);
    sendHeaders(sink);
    await play(feed, sink, { seconds: 5, after: () => viewer.look() });
    const listed = await feed.text('index.m3u8');
    const { issues } = sink.figures();
    feed.output.detach(grant.token);
    await viewer.look();
    expect(fatal).toEqual([]);
    expect(viewer.samples(1)).toHaveLength(150);
    expect(seen.samples.filter(({ track }) => track === 'video')).toHaveLength(150);
    expect(seen.ends).toBe(1);
    if (where !== 'nonsense') expect(calls).toBe(1);
    expect(lines).toEqual([
      expect.stringMatching(/^error (TypeError: `media`|Error: a defect).*"plugin":"broken"/),
      expect.stringMatching(/^warn a plugin failed.*"plugin":"broken","streamId":"s","sessionId":"x"/),
    ]);
    expect(counted('millrace_plugin_media_failures_total', 'broken')).toBe(1);
    expect(counted('millrace_plugin_media_failures_total', 'good')).toBe(0);
    // What it had added is withdrawn with it.
    const isThere = where === 'end';
    expect([issues.includes('something'), listed.includes('SUBTITLES')]).toEqual([isThere, isThere]);
  },
);

test('issues of plugins are those of the stream, one each, until they say otherwise', async () => {
  const broadcasts: PublishedBroadcast[] = [];
  const open = (broadcast: PublishedBroadcast) => {
    broadcasts.push(broadcast);
    broadcast.issue('No captions.');
    return undefined;
  };
  const { feed } = watched({ one: open, two: open });
  const { sink } = feed.attach();
  expect(sink.figures().issues).toEqual(['No captions.', 'No captions.']);
  broadcasts[0].issue(undefined);
  broadcasts[1].issue(`two\nlines ${'x'.repeat(1000)}`);
  const { issues } = sink.figures();
  expect(issues).toHaveLength(1);
  expect(issues[0]).toMatch(/^two\\u\{000a\}lines x{290}$/);
});

test('a plugin that wants nothing is not called, and can add nothing later', async () => {
  let broadcast: PublishedBroadcast | undefined;
  const { feed, lines } = watched({
    one: (given) => {
      broadcast = given;
      return undefined;
    },
  });
  const { sink } = feed.attach();
  broadcast?.issue('late');
  expect(sink.figures().issues).toEqual([]);
  expect(() => broadcast?.textTrack({ name: 'English', language: 'en' })).toThrow('this publish is over');
  expect(lines).toEqual([]);
});

test('time that a plugin takes is measured; one that takes too much of a core is named', async () => {
  let time = 0;
  const busy = () => ({
    sample: () => {
      time += 10;
    },
  });
  const idle = () => ({ sample: () => {}, part: () => {} });
  const { feed, lines, counted } = watched({ busy, idle }, { timer: () => time });
  const { sink } = feed.attach();
  sendHeaders(sink);
  // 10 ms for each of 77 samples a second, on a clock that stands still otherwise.
  await play(feed, sink, { seconds: 5 });
  expect(lines).toEqual([]);
  let last = 0;
  await play(feed, sink, {
    seconds: 60,
    from: 5000,
    after: () => {
      time += (feed.clock.now() - last) / (last === 0 ? Number.POSITIVE_INFINITY : 1);
      last = feed.clock.now();
    },
  });
  const warnings = lines.filter((line) => line.startsWith('warn'));
  expect(warnings.length).toBeGreaterThanOrEqual(1);
  expect(warnings.length).toBeLessThanOrEqual(2);
  expect(warnings[0]).toMatch(/slows this node down.*"plugin":"busy","cpu":"\d\d %"/);
  expect(counted('millrace_plugin_media_slow_total', 'busy')).toBeGreaterThan(3);
  expect(counted('millrace_plugin_media_slow_total', 'idle')).toBe(0);
  // One call in 61 stands for all of them: what came after the last that was measured is missing.
  const calls = 65 * (30 + 48_000 / 1024);
  const counts = counted('millrace_plugin_media_seconds_total', 'busy');
  expect([counts > (calls - 61) / 100, counts <= calls / 100]).toEqual([true, true]);
});
