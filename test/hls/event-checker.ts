import type { ListedSegment } from './checker.ts';
import { applyDelta } from './delta.ts';
import { MediaChecker } from './media-checker.ts';
import { attributes, must } from './rules.ts';

/** A media playlist of whole segments: EVENT while it grows, with ENDLIST when nothing comes any more. */
export interface SegmentPlaylist {
  readonly target: number;
  /** EVENT or VOD; undefined: the oldest may go. */
  readonly type: string | undefined;
  readonly sequence: number;
  readonly discontinuitySequence: number;
  readonly canSkipUntil: number | undefined;
  readonly isEnded: boolean;
  readonly segments: readonly ListedSegment[];
}

/**
 * Parses such a playlist strictly; anything RFC 8216bis does not allow, and anything of parts, throws.
 *
 * @param options `borrows`: it is that of a rendition, which shows files of its source in between, under their map and on one timeline
 */
export function parseSegmentPlaylist(text: string, { borrows = false } = {}): SegmentPlaylist {
  const lines = text.split('\n');
  must(lines[0] === '#EXTM3U', 'begins with #EXTM3U');
  must(text.endsWith('\n') && !text.includes('\r'), 'lines end with LF');
  const header = new Map<string, string>();
  const segments: ListedSegment[] = [];
  let discontinuities = 0;
  let map = '';
  let wall: number | undefined;
  let duration: number | undefined;
  let isDiscontinuity = false;
  let isEnded = false;
  /** Something of the next segment was said. */
  let isBegun = false;
  for (const line of lines.slice(1, -1)) {
    must(line !== '', 'no empty line');
    must(!isEnded, 'nothing stands behind ENDLIST');
    const colon = line.indexOf(':');
    const tag = line.startsWith('#') ? line.slice(1, colon < 0 ? undefined : colon) : 'URI';
    const value = line.slice(colon + 1);
    if (headerTags.has(tag)) {
      must(segments.length === 0 && !isBegun && !header.has(tag), `${tag} stands in front, once`);
      header.set(tag, value);
    } else if (tag === 'EXT-X-DISCONTINUITY') {
      must(!isDiscontinuity && duration === undefined, 'a discontinuity stands before its segment, once');
      must(segments.length > 0, 'nothing is before the first segment that it could differ from');
      discontinuities += 1;
      isDiscontinuity = isBegun = true;
    } else if (tag === 'EXT-X-MAP') {
      const uri = attributes(value).get('URI') ?? '';
      must(uri !== '' && duration === undefined, 'a map names a file, before its segment');
      must(map === '' || isDiscontinuity || borrows, 'another map needs a discontinuity');
      map = uri;
      isBegun = true;
    } else if (tag === 'EXT-X-PROGRAM-DATE-TIME') {
      must(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value), `a date, not ${value}`);
      wall = Date.parse(value);
      isBegun = true;
    } else if (tag === 'EXTINF') {
      must(duration === undefined && /^\d+(\.\d+)?,$/.test(value), `EXTINF ${value} is one number`);
      duration = Number.parseFloat(value);
      isBegun = true;
    } else if (tag === 'EXT-X-ENDLIST') isEnded = true;
    else if (tag === 'URI') {
      must(duration !== undefined && map !== '', `${line} has EXTINF and a map`);
      const sequence = Number(header.get('EXT-X-MEDIA-SEQUENCE') ?? 0) + segments.length;
      const before = Number(header.get('EXT-X-DISCONTINUITY-SEQUENCE') ?? 0);
      const lasts = duration ?? 0;
      const common = { sequence, discontinuities: before + discontinuities, map, wall, parts: [] };
      segments.push({ ...common, uri: line, duration: lasts, isGap: false });
      wall = wall === undefined ? undefined : wall + lasts * 1000;
      duration = undefined;
      isDiscontinuity = isBegun = false;
    } else must(line.startsWith('#') && !line.startsWith('#EXT'), `known tag, not ${line}`);
  }
  must(!isBegun, 'every tag of a segment has its segment');
  const target = whole(header.get('EXT-X-TARGETDURATION'), 'target duration');
  for (const { uri, duration: lasts } of segments)
    must(Math.round(lasts) <= target, `segment ${uri} lasts ${lasts}, target ${target}`);
  must(new Set(segments.map(({ uri }) => uri)).size === segments.length, 'each segment has a URI of its own');
  must(whole(header.get('EXT-X-VERSION'), 'version') >= 6, 'the version is at least 6, for the map');
  const type = header.get('EXT-X-PLAYLIST-TYPE');
  must(type === undefined || type === 'EVENT' || type === 'VOD', `a type of playlist, not ${type}`);
  must(type !== 'VOD' || isEnded, 'what is VOD ends');
  const control = attributes(header.get('EXT-X-SERVER-CONTROL') ?? '');
  const canSkip = control.get('CAN-SKIP-UNTIL');
  must(
    canSkip === undefined || Number(canSkip) >= 6 * target,
    `CAN-SKIP-UNTIL ${canSkip} is at least 6 × ${target}`,
  );
  return {
    target,
    type,
    sequence: whole(header.get('EXT-X-MEDIA-SEQUENCE') ?? '0', 'media sequence'),
    discontinuitySequence: whole(header.get('EXT-X-DISCONTINUITY-SEQUENCE') ?? '0', 'discontinuity sequence'),
    canSkipUntil: canSkip === undefined ? undefined : Number(canSkip),
    isEnded,
    segments,
  };
}

const headerTags = new Set([
  'EXT-X-VERSION',
  'EXT-X-TARGETDURATION',
  'EXT-X-PLAYLIST-TYPE',
  'EXT-X-SERVER-CONTROL',
  'EXT-X-MEDIA-SEQUENCE',
  'EXT-X-DISCONTINUITY-SEQUENCE',
]);

function whole(text: string | undefined, name: string): number {
  must(text !== undefined && /^\d+$/.test(text), `${name} is a whole number, not ${text}`);
  return Number(text);
}

/** Follows an EVENT playlist from reload to reload, fetches each of its files once and checks all of it. */
export class EventFollower {
  readonly media: MediaChecker;
  readonly fetched = new Map<string, Uint8Array>();
  readonly #fetch: (uri: string) => Promise<Uint8Array>;
  readonly #options: { borrows?: boolean };
  last: SegmentPlaylist | undefined;
  #text = '';

  /** @param fetch the bytes of a file that a playlist names; throws when it cannot be had. */
  constructor(fetch: (uri: string) => Promise<Uint8Array>, options: { borrows?: boolean } = {}) {
    this.#fetch = fetch;
    this.#options = options;
    this.media = new MediaChecker(options);
  }

  /** The playlist, or a delta update to the last. Throws at the first rule that it or one of its files breaks. */
  async see(given: string): Promise<SegmentPlaylist> {
    const text = given.includes('#EXT-X-SKIP') ? applyDelta(this.#text, given) : given;
    const playlist = parseSegmentPlaylist(text, this.#options);
    const { last } = this;
    if (last !== undefined) compare(last, playlist);
    order(playlist);
    const from = last === undefined ? 0 : last.sequence + last.segments.length;
    for (const segment of playlist.segments) {
      if (segment.sequence < from) continue;
      this.media.init(segment.map, await this.#once(segment.map));
      const bytes = await this.#once(segment.uri);
      this.media.segment(segment, { bytes, parts: [], hasNoParts: true });
    }
    this.last = playlist;
    this.#text = text;
    return playlist;
  }

  async #once(uri: string): Promise<Uint8Array> {
    const known = this.fetched.get(uri);
    if (known !== undefined) return known;
    const bytes = await this.#fetch(uri);
    this.fetched.set(uri, bytes);
    return bytes;
  }
}

/** RFC 8216bis 4.4.3.5 and 6.2.1: of an EVENT nothing goes and nothing changes; it only becomes longer. */
function compare(before: SegmentPlaylist, after: SegmentPlaylist): void {
  must(after.type === before.type, `the type stays ${before.type}, not ${after.type}`);
  must(!before.isEnded, 'what has ended does not change');
  must(after.target >= before.target, 'the target duration does not shrink');
  if (before.type === 'EVENT')
    must(after.sequence === before.sequence, 'the media sequence of an EVENT stays, as nothing of it goes');
  must(after.sequence >= before.sequence, 'the media sequence does not go back');
  const end = before.sequence + before.segments.length;
  must(after.sequence + after.segments.length >= end, 'no listed segment vanishes at the end');
  for (const segment of before.segments) {
    const same = after.segments[segment.sequence - after.sequence];
    if (same === undefined) continue;
    must(JSON.stringify(same) === JSON.stringify(segment), `segment ${segment.sequence} does not change`);
  }
}

/** PROGRAM-DATE-TIME runs with the media, except over a discontinuity, where it may only go ahead. */
function order({ segments }: SegmentPlaylist): void {
  for (const [i, segment] of segments.entries()) {
    const before = segments[i - 1];
    must(segment.wall !== undefined, `${segment.uri} has a date`);
    if (before?.wall === undefined || segment.wall === undefined) continue;
    const off = segment.wall - before.wall - before.duration * 1000;
    if (segment.discontinuities === before.discontinuities)
      must(Math.abs(off) <= 2, `the date of ${segment.uri} is off by ${off} ms`);
    else must(off >= -2, `the date of ${segment.uri} goes back by ${-off} ms`);
  }
}
