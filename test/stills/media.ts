import type { StillMedia, StillOrder, StillSource } from '../../core/ports/stills.ts';
import { Feed, play, sendHeaders } from '../hls/feed.ts';

/** Some seconds of a broadcast by our packager: its newest part with a key frame, which no decoder will see. */
export async function livePart(options: Parameters<typeof play>[2] = { seconds: 3 }) {
  const feed = new Feed();
  const { sink } = feed.attach();
  sendHeaders(sink);
  await play(feed, sink, options);
  const found = feed.output.keyFrame();
  if (!found || found === 'none') throw new Error('there is no key frame');
  return { feed, found };
}

export function sourceOf(
  { init, part }: { init: Blob; part: Blob },
  options: { id?: string; at?: number; lead?: StillSource['lead'] } = {},
): StillSource {
  const { id = 'a', at, lead } = options;
  const bytes = async (blob: Blob) => new Uint8Array(await blob.arrayBuffer());
  return {
    init: { id, read: () => bytes(init) },
    open: () => ({ size: part.size, read: ({ from, to }) => bytes(part.slice(from, to)) }),
    ...(at !== undefined && { at }),
    ...(lead && { lead }),
  };
}

export function pictureOf(source: StillSource, version?: string): StillMedia {
  return {
    pictures: [{ sources: [source] }],
    columns: 1,
    width: 640,
    height: 640,
    ...(version && { version }),
  };
}

export function orderOf(key: string, rest: Partial<StillOrder> & Pick<StillOrder, 'open'>): StillOrder {
  return { kind: 'live', key, of: key, signal: new AbortController().signal, ...rest };
}

/** Bytes that look like a JPEG of this size, and are none. */
export function jpeg(width: number, height: number, note = ''): string {
  const head = [
    0xff,
    0xd8,
    0xff,
    0xc0,
    0,
    11,
    8,
    height >> 8,
    height & 255,
    width >> 8,
    width & 255,
    1,
    1,
    17,
    0,
  ];
  return Buffer.from([...head, ...Buffer.from(note), 0xff, 0xd9]).toString('latin1');
}
