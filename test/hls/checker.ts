import { applyDelta } from './delta.ts';
import { attributes, must } from './rules.ts';

/** One media segment of a parsed playlist. Times in seconds. */
export interface ListedSegment {
  readonly sequence: number;
  readonly discontinuities: number;
  readonly uri: string;
  readonly duration: number;
  /** EXT-X-GAP: there is no media of it. */
  readonly isGap: boolean;
  readonly map: string;
  /** Epoch milliseconds. */
  readonly wall: number | undefined;
  readonly parts: readonly ListedPart[];
}
export interface ListedPart {
  readonly uri: string;
  readonly duration: number;
  readonly isIndependent: boolean;
}
export interface MediaPlaylist {
  readonly target: number;
  readonly partTarget: number;
  readonly sequence: number;
  readonly discontinuitySequence: number;
  readonly segments: readonly ListedSegment[];
  /** Seconds; undefined when the server makes no delta updates. */
  readonly canSkipUntil: number | undefined;
  /** Parts of the segment that is being made. */
  readonly open: Omit<ListedSegment, 'uri' | 'duration' | 'isGap'>;
  readonly hint: string | undefined;
  /** Seconds. */
  readonly holdBack: number;
  /** EXT-X-RENDITION-REPORT: what the playlist of that URI lists last. */
  readonly reports: ReadonlyMap<string, { readonly sequence: number; readonly part: number }>;
}

export interface PlaylistOptions {
  /**
   * Frames come unevenly: one that lasts longer than a part should makes PART-TARGET grow while it is listed,
   * and the parts beside it may then fall short of 85 % of it.
   */
  readonly isUneven?: boolean;
  /** Of a text track: nothing in it needs an init, and a player can begin with any part. */
  readonly isText?: boolean;
}

/** Parses a whole live LL-HLS media playlist strictly; anything RFC 8216bis does not allow throws. */
export function parsePlaylist(text: string, options: PlaylistOptions = {}): MediaPlaylist {
  const lines = text.split('\n');
  must(lines[0] === '#EXTM3U', 'begins with #EXTM3U');
  must(text.endsWith('\n') && !text.includes('\r'), 'lines end with LF');
  // hls.js 1.7 takes the segment that a last line names for one that still grows.
  must(lines.at(-2)?.startsWith('#') === true, 'the last line is a tag or a comment');
  const once = (tag: string): string => {
    const found = lines.filter((line) => line.startsWith(`#${tag}:`));
    must(found.length === 1, `exactly one ${tag}, not ${found.length}`);
    return found[0].slice(tag.length + 2);
  };
  const whole = (value: string, name: string): number => {
    must(/^\d+$/.test(value), `${name} is a whole number, not ${value}`);
    return Number(value);
  };
  must(whole(once('EXT-X-VERSION'), 'version') >= 9, 'the version is at least 9, for parts and skips');
  const target = whole(once('EXT-X-TARGETDURATION'), 'target duration');
  const sequence = whole(once('EXT-X-MEDIA-SEQUENCE'), 'media sequence');
  const discontinuitySequence = whole(once('EXT-X-DISCONTINUITY-SEQUENCE'), 'discontinuity sequence');
  const partTarget = Number(attributes(once('EXT-X-PART-INF')).get('PART-TARGET'));
  must(partTarget > 0, 'there is a PART-TARGET');
  const control = attributes(once('EXT-X-SERVER-CONTROL'));
  must(control.get('CAN-BLOCK-RELOAD') === 'YES', 'CAN-BLOCK-RELOAD=YES');
  const holdBack = Number(control.get('PART-HOLD-BACK'));
  must(holdBack >= 3 * partTarget - 1e-9, `PART-HOLD-BACK ${holdBack} is at least 3 × ${partTarget}`);
  const canSkip = control.get('CAN-SKIP-UNTIL');
  const canSkipUntil = canSkip === undefined ? undefined : Number(canSkip);
  if (canSkipUntil !== undefined)
    must(canSkipUntil >= 6 * target, `CAN-SKIP-UNTIL ${canSkip} is at least 6 × ${target}`);
  const segments: ListedSegment[] = [];
  let discontinuities = discontinuitySequence;
  let map = '';
  let wall: number | undefined;
  let parts: ListedPart[] = [];
  let duration: number | undefined;
  let hint: string | undefined;
  let isDiscontinuity = false;
  let isGap = false;
  let isReported = false;
  const reports = new Map<string, { sequence: number; part: number }>();
  const head = () => ({ sequence: sequence + segments.length, discontinuities, map, wall, parts });
  for (const line of lines.slice(1, -1)) {
    must(line !== '', 'no empty line');
    must(hint === undefined || !/^[^#]|^#EXT(INF|-X-PART:)/.test(line), 'nothing is listed behind the hint');
    must(
      !isReported || /^#EXT-X-RENDITION-REPORT:/.test(line),
      'reports of other playlists stand at the end',
    );
    const colon = line.indexOf(':');
    const tag = line.startsWith('#') ? line.slice(1, colon < 0 ? undefined : colon) : 'URI';
    const value = line.slice(colon + 1);
    if (tag === 'EXT-X-RENDITION-REPORT') {
      const report = attributes(value);
      const uri = report.get('URI') ?? '';
      must(uri !== '' && !reports.has(uri), `one report of ${uri}`);
      reports.set(uri, {
        sequence: whole(report.get('LAST-MSN') ?? '', 'LAST-MSN'),
        part: whole(report.get('LAST-PART') ?? '', 'LAST-PART'),
      });
      isReported = true;
    } else if (tag === 'EXT-X-DISCONTINUITY') {
      must(parts.length === 0 && !isDiscontinuity, 'a discontinuity stands before the parts, once');
      discontinuities += 1;
      isDiscontinuity = true;
    } else if (tag === 'EXT-X-MAP') {
      must(parts.length === 0, 'a map stands before the parts');
      must(options.isText !== true, 'text has no map');
      const uri = attributes(value).get('URI') ?? '';
      must(map === '' || isDiscontinuity, 'another map needs a discontinuity');
      map = uri;
    } else if (tag === 'EXT-X-PROGRAM-DATE-TIME') {
      must(parts.length === 0, 'the date stands before the parts');
      wall = Date.parse(value);
      must(Number.isFinite(wall), `a date, not ${value}`);
    } else if (tag === 'EXT-X-GAP') {
      must(!isGap && parts.length === 0, 'a gap is said once, and has no parts');
      isGap = true;
    } else if (tag === 'EXT-X-PART') {
      must(!isGap, 'a gap has no parts');
      const list = attributes(value);
      const part = {
        uri: list.get('URI') ?? '',
        duration: Number(list.get('DURATION')),
        isIndependent: list.get('INDEPENDENT') === 'YES',
      };
      must(map !== '' || options.isText === true, 'a part has a map');
      must(options.isText !== true || part.isIndependent, 'text can be read from any part');
      must(part.duration <= partTarget + 1e-6, `part ${part.uri} lasts ${part.duration}, over ${partTarget}`);
      must(part.duration > 0, `part ${part.uri} has a duration`);
      must(part.uri !== '' && !parts.some(({ uri }) => uri === part.uri), 'a part has a URI of its own');
      const before = parts.at(-1);
      if (before !== undefined && options.isUneven !== true)
        must(
          before.duration >= 0.85 * partTarget - 1e-6,
          `part ${before.uri} lasts ${before.duration}, under 85 % of ${partTarget}`,
        );
      parts.push(part);
    } else if (tag === 'EXTINF') {
      must(duration === undefined && /^\d+(\.\d+)?,/.test(value), `EXTINF ${value} is one number`);
      duration = Number.parseFloat(value);
    } else if (tag === 'EXT-X-PRELOAD-HINT') {
      must(hint === undefined && attributes(value).get('TYPE') === 'PART', 'the hint is one part');
      hint = attributes(value).get('URI');
    } else if (tag === 'URI') {
      must(duration !== undefined, 'EXTINF stands before a segment');
      must(map !== '' || options.isText === true, 'a segment has a map');
      const lasts = duration ?? 0;
      must(Math.round(lasts) <= target, `segment ${line} lasts ${lasts}, target ${target}`);
      if (parts.length > 0) {
        const sum = parts.reduce((total, part) => total + part.duration, 0);
        must(Math.abs(sum - lasts) < 1e-4 * parts.length, `parts last ${sum}, segment ${lasts}`);
      }
      if (isGap) gap({ duration: lasts, target, isDiscontinuity, number: segments.length });
      else must(!segments.at(-1)?.isGap || isDiscontinuity, 'a discontinuity stands behind a gap');
      segments.push({ ...head(), uri: line, duration: lasts, isGap });
      // PDT runs on when the next segment has no date of its own.
      wall = wall === undefined ? undefined : wall + lasts * 1000;
      parts = [];
      duration = undefined;
      isDiscontinuity = isGap = false;
      // A line with # and no EXT is a comment, RFC 8216bis 4.1.
    } else if (!line.startsWith('#') || line.startsWith('#EXT'))
      must(KNOWN.has(tag), `known tag, not ${line}`);
  }
  must(duration === undefined && !isGap, 'no EXTINF and no EXT-X-GAP is left over');
  // A player of whole segments finds nothing in it.
  must(segments.length === 0 || segments.some((segment) => !segment.isGap), 'more than a gap is listed');
  const numbers = { target, partTarget, sequence, discontinuitySequence, canSkipUntil };
  return { ...numbers, segments, open: head(), hint, holdBack, reports };
}

/**
 * What ends the media of a playlist that another process had: one segment of a target duration, the first of all, with
 * the numbers that come before those of what is new.
 */
function gap(found: { duration: number; target: number; isDiscontinuity: boolean; number: number }): void {
  must(found.number === 0, 'a gap is the first segment');
  must(!found.isDiscontinuity, 'a gap ends what was before it: the discontinuity stands behind it');
  must(
    found.duration <= found.target && found.duration >= 4,
    `a gap lasts a target duration, not ${found.duration}`,
  );
}

const KNOWN = new Set([
  'EXT-X-VERSION',
  'EXT-X-TARGETDURATION',
  'EXT-X-MEDIA-SEQUENCE',
  'EXT-X-DISCONTINUITY-SEQUENCE',
  'EXT-X-PART-INF',
  'EXT-X-SERVER-CONTROL',
  'EXT-X-RENDITION-REPORT',
]);

/** What sums of many durations, of five digits each, may be off by; seconds. */
const ROUNDED = 0.001;

/** Follows one playlist over its reloads. `see` throws when a rule between two versions is broken. */
export class PlaylistChecker {
  readonly segments = new Map<number, ListedSegment>();
  readonly hints = new Set<string>();
  readonly #parts = new Map<string, string>();
  /** URIs by the place that they were hinted for. */
  readonly #hinted = new Map<string, string>();
  readonly #options: PlaylistOptions;
  last: MediaPlaylist | undefined;
  #text = '';

  constructor(options: PlaylistOptions = {}) {
    this.#options = options;
  }

  /** A whole playlist, or a delta update to the one seen last. */
  see(given: string): MediaPlaylist {
    const text = given.includes('#EXT-X-SKIP') ? applyDelta(this.#text, given) : given;
    const playlist = parsePlaylist(text, this.#options);
    const { last } = this;
    this.#resume(playlist);
    if (last !== undefined) {
      must(playlist.target >= last.target, 'the target duration does not shrink');
      must(playlist.sequence >= last.sequence, 'the media sequence does not go back');
      must(playlist.discontinuitySequence >= last.discontinuitySequence, 'nor the discontinuity sequence');
      const end = last.sequence + last.segments.length;
      must(playlist.sequence + playlist.segments.length >= end, 'no listed segment vanishes at the end');
    }
    const listed = playlist.segments.reduce((total, segment) => total + segment.duration, 0);
    const end = last === undefined ? 0 : last.sequence + last.segments.length;
    // A server that has started again lists nothing from before.
    if (last !== undefined && playlist.sequence > last.sequence && playlist.sequence <= end)
      must(
        listed >= 3 * playlist.target - ROUNDED,
        `after a removal ${listed} s are listed, under three targets`,
      );
    for (const segment of playlist.segments) this.#segment(segment);
    this.#order(playlist);
    const { open } = playlist;
    open.parts.forEach((part, i) => {
      this.#part(part, `${open.sequence}.${i}`);
    });
    this.#partsStay(playlist);
    if (playlist.hint !== undefined) {
      const key = `${open.sequence}.${open.parts.length}`;
      must((this.#hinted.get(key) ?? playlist.hint) === playlist.hint, `the hint for ${key} does not change`);
      must(!open.parts.some(({ uri }) => uri === playlist.hint), 'what is hinted is not listed yet');
      this.#hinted.set(key, playlist.hint);
      this.hints.add(playlist.hint);
    }
    this.last = playlist;
    this.#text = text;
    return playlist;
  }

  /**
   * Where nothing is listed any more of what was, a gap and a discontinuity lead from one timeline to the other. Where
   * a publisher comes back to what is listed, its first segment has its parts, as any: players go on with them.
   */
  #resume(playlist: MediaPlaylist): void {
    const { last } = this;
    if (last === undefined) return;
    const { sequence, segments } = playlist;
    const [first] = segments;
    const ends = last.open.discontinuities;
    if (sequence > last.sequence + last.segments.length) {
      must(
        first.isGap || first.discontinuities === ends,
        `a gap leads from segment ${last.open.sequence} to ${sequence}`,
      );
      must(first.discontinuities >= ends, `the gap is numbered as what it ends, ${ends}, or above`);
    } else if (first?.isGap)
      must(this.segments.get(sequence)?.isGap === true, `segment ${sequence} does not become a gap`);
    let behind = playlist.open.parts.reduce((total, part) => total + part.duration, 0);
    for (let i = segments.length - 1; i > 0 && behind < 3 * playlist.target - ROUNDED; i -= 1) {
      const { discontinuities, parts, uri, duration } = segments[i];
      const isSeam = discontinuities !== segments[i - 1].discontinuities;
      must(!isSeam || parts.length > 0, `the parts of ${uri}, behind a discontinuity, are listed`);
      behind += duration;
    }
  }

  #segment(segment: ListedSegment): void {
    const known = this.segments.get(segment.sequence);
    if (known === undefined) this.segments.set(segment.sequence, segment);
    else
      for (const field of ['uri', 'duration', 'discontinuities', 'wall', 'map', 'isGap'] as const)
        must(
          known[field] === segment[field],
          `${field} of ${segment.uri} stays ${known[field]}, not ${segment[field]}`,
        );
    segment.parts.forEach((part, i) => {
      this.#part(part, `${segment.sequence}.${i}`);
    });
  }

  #part(part: ListedPart, key: string): void {
    const text = JSON.stringify(part);
    must((this.#parts.get(key) ?? text) === text, `part ${key} does not change`);
    must((this.#hinted.get(key) ?? part.uri) === part.uri, `part ${key} is the one that was hinted`);
    this.#parts.set(key, text);
  }

  /** Parts go only when they are three target durations from the end, 6.2.2, and all of a segment at once. */
  #partsStay(playlist: MediaPlaylist): void {
    let behind = playlist.open.parts.reduce((total, part) => total + part.duration, 0);
    for (const segment of playlist.segments.toReversed()) {
      const before =
        this.last?.segments.find(({ sequence }) => sequence === segment.sequence) ??
        (this.last?.open.sequence === segment.sequence ? this.last.open : undefined);
      const isLost = before !== undefined && segment.parts.length < before.parts.length;
      must(
        !isLost || (segment.parts.length === 0 && behind >= 3 * playlist.target - ROUNDED),
        `parts of ${segment.uri} stay`,
      );
      behind += segment.duration;
    }
  }

  /** PROGRAM-DATE-TIME runs with the media, except over a discontinuity, where it may only go ahead. */
  #order(playlist: MediaPlaylist): void {
    for (let i = 1; i < playlist.segments.length; i += 1) {
      const before = playlist.segments[i - 1];
      const segment = playlist.segments[i];
      if (before.wall === undefined || segment.wall === undefined) continue;
      const off = segment.wall - before.wall - before.duration * 1000;
      if (segment.discontinuities === before.discontinuities)
        must(Math.abs(off) <= 2, `the date of ${segment.uri} is off by ${off} ms`);
      else must(off >= -2, `the date of ${segment.uri} goes back by ${-off} ms`);
    }
  }
}

/** Whether a playlist answers a blocking reload: it has that part, or that whole segment, or goes further. */
export function answersReload(playlist: MediaPlaylist, asked: { msn: number; part?: number }): boolean {
  const { msn, part } = asked;
  const { sequence, parts } = playlist.open;
  if (msn > sequence) return false;
  if (msn === sequence) return part !== undefined && part < parts.length;
  const last = playlist.segments.at(-1);
  // A part behind the last one of the newest segment is the first of the next, 6.2.5.2.
  if (part !== undefined && last?.sequence === msn && last.parts.length > 0 && part >= last.parts.length)
    return parts.length > 0;
  return true;
}
