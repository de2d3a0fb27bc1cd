import type { ListedSegment } from '../hls/checker.ts';
import { attributes, must } from '../hls/rules.ts';

/** Parses the media playlist of something complete, strictly; anything RFC 8216bis does not allow there throws. */
export function parseVodPlaylist(text: string): { target: number; segments: ListedSegment[] } {
  const lines = text.split('\n');
  must(lines[0] === '#EXTM3U', 'begins with #EXTM3U');
  must(text.endsWith('\n#EXT-X-ENDLIST\n') && !text.includes('\r'), 'ends with ENDLIST, lines with LF');
  const once = (tag: string): string => {
    const found = lines.filter((line) => line.startsWith(`#${tag}:`));
    must(found.length === 1, `exactly one ${tag}, not ${found.length}`);
    return found[0].slice(tag.length + 2);
  };
  must(once('EXT-X-PLAYLIST-TYPE') === 'VOD', 'the type is VOD');
  must(Number(once('EXT-X-VERSION')) >= 6, 'a MAP needs version 6');
  const target = Number(once('EXT-X-TARGETDURATION'));
  must(Number.isInteger(target) && target > 0, 'the target duration is a whole number');
  const sequence = Number(once('EXT-X-MEDIA-SEQUENCE'));
  const segments: ListedSegment[] = [];
  let discontinuities = 0;
  let isDiscontinuity = false;
  let map = '';
  let wall: number | undefined;
  let duration: number | undefined;
  for (const line of lines.slice(1, -2)) {
    const colon = line.indexOf(':');
    const tag = line.startsWith('#') ? line.slice(1, colon < 0 ? undefined : colon) : 'URI';
    const value = line.slice(colon + 1);
    if (tag === 'EXT-X-DISCONTINUITY') {
      must(!isDiscontinuity && segments.length > 0, 'a discontinuity stands between segments, once');
      discontinuities += 1;
      isDiscontinuity = true;
      wall = undefined;
    } else if (tag === 'EXT-X-MAP') {
      must(map === '' || isDiscontinuity, 'another map needs a discontinuity');
      map = attributes(value).get('URI') ?? '';
    } else if (tag === 'EXT-X-PROGRAM-DATE-TIME') {
      wall = Date.parse(value);
      must(Number.isFinite(wall), `a date, not ${value}`);
    } else if (tag === 'EXTINF') {
      must(duration === undefined && /^\d+\.\d+,$/.test(value), `EXTINF ${value} is one number`);
      duration = Number.parseFloat(value);
    } else if (tag === 'URI') {
      must(/^[^\s#]+$/.test(line), `a URI, not ${line}`);
      if (duration === undefined) throw new Error(`EXTINF stands before ${line}`);
      must(map !== '', 'a segment has a map');
      must(Math.round(duration) <= target, `segment ${line} lasts ${duration}, target ${target}`);
      const number = sequence + segments.length;
      segments.push({ sequence: number, discontinuities, map, wall, parts: [], uri: line, duration });
      wall = wall === undefined ? undefined : wall + duration * 1000;
      duration = undefined;
      isDiscontinuity = false;
    } else must(inHead.has(tag) && segments.length === 0, `known tag, not ${line}`);
  }
  must(duration === undefined && !isDiscontinuity, 'nothing is left over');
  return { target, segments };
}

const inHead = new Set([
  ...['EXT-X-VERSION', 'EXT-X-TARGETDURATION', 'EXT-X-PLAYLIST-TYPE', 'EXT-X-MEDIA-SEQUENCE'],
]);
