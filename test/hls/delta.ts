import { attributes, must } from './rules.ts';

/** A segment of a playlist's text: its tags by name, without those of its parts, and its URI. */
interface Block {
  readonly isDiscontinuity: boolean;
  /** The map that holds here, whether or not it stands here. */
  readonly map: string | undefined;
  /** Everything else that stands before the URI, and the URI. */
  readonly lines: readonly string[];
  readonly duration: number;
}

/**
 * The whole playlist that a delta update and the playlist before it stand for (RFC 8216bis 6.2.5.1, 6.3.7).
 * Throws when the update breaks a rule or leaves out what the playlist before it did not have.
 */
export function applyDelta(before: string, delta: string): string {
  const lines = delta.split('\n').slice(0, -1);
  const at = lines.findIndex((line) => line.startsWith('#EXT-X-SKIP:'));
  const skips = attributes(lines[at].slice('#EXT-X-SKIP:'.length));
  const text = skips.get('SKIPPED-SEGMENTS') ?? '';
  must(/^[1-9]\d*$/.test(text), `SKIPPED-SEGMENTS is a whole number above 0, not ${text}`);
  const count = Number(text);
  const head = lines.slice(0, at);
  const tail = lines.slice(at + 1);
  must(!tail.some((line) => line.startsWith('#EXT-X-SKIP:')), 'one EXT-X-SKIP');
  const perSegment = /^#EXT(INF|-X-(DISCONTINUITY$|GAP$|MAP|PROGRAM-DATE-TIME|PART:|BYTERANGE|KEY))/;
  must(!head.some((line) => perSegment.test(line)), 'no tag of a segment stands before EXT-X-SKIP');
  const first = numberOf(head, 'EXT-X-MEDIA-SEQUENCE');
  must(Number(/^#EXT-X-VERSION:(\d+)/m.exec(delta)?.[1]) >= 9, 'a skip needs version 9');
  const control = attributes(
    head.find((line) => line.startsWith('#EXT-X-SERVER-CONTROL:'))?.split(/:(.*)/)[1] ?? '',
  );
  const boundary = Number(control.get('CAN-SKIP-UNTIL'));
  must(boundary > 0, 'who skips says CAN-SKIP-UNTIL');
  const kept = blocksOf(tail);
  const left = [...kept.blocks.map(({ duration }) => duration), ...kept.open.map(partDuration)];
  const length = left.reduce((sum, duration) => sum + duration, 0);
  must(length >= boundary - 1e-3, `${length} s are left, less than the skip boundary ${boundary}`);

  const earlier = before.split('\n').slice(0, -1);
  const { blocks } = blocksOf(earlier);
  const offset = first - numberOf(earlier, 'EXT-X-MEDIA-SEQUENCE');
  must(offset >= 0, 'the media sequence does not go back');
  const skipped = blocks.slice(offset, offset + count);
  must(skipped.length === count, 'what is skipped stood in the playlist before');
  let map: string | undefined;
  const rebuilt = skipped.flatMap((block) => {
    const isNew = block.map !== map;
    map = block.map;
    return [
      ...(block.isDiscontinuity ? ['#EXT-X-DISCONTINUITY'] : []),
      ...(isNew && map !== undefined ? [map] : []),
      ...block.lines,
    ];
  });
  return `${[...head, ...rebuilt, ...tail].join('\n')}\n`;
}

/** What stands in a list of lines, segment by segment, and the lines of parts behind the last of them. */
function blocksOf(lines: readonly string[]): { blocks: Block[]; open: string[] } {
  const blocks: Block[] = [];
  let map: string | undefined;
  let isDiscontinuity = false;
  let own: string[] = [];
  let parts: string[] = [];
  let duration = 0;
  for (const line of lines) {
    if (line === '#EXT-X-DISCONTINUITY') isDiscontinuity = true;
    else if (line.startsWith('#EXT-X-MAP:')) map = line;
    else if (line.startsWith('#EXT-X-PART:')) parts.push(line);
    else if (
      line === '#EXT-X-GAP' ||
      line.startsWith('#EXTINF:') ||
      line.startsWith('#EXT-X-PROGRAM-DATE-TIME:')
    ) {
      own.push(line);
      if (line.startsWith('#EXTINF:')) duration = Number.parseFloat(line.slice(8));
    } else if (!line.startsWith('#')) {
      blocks.push({ isDiscontinuity, map, lines: [...own, line], duration });
      isDiscontinuity = false;
      own = [];
      parts = [];
    }
  }
  return { blocks, open: parts };
}

function partDuration(line: string): number {
  return Number(attributes(line.slice('#EXT-X-PART:'.length)).get('DURATION'));
}

function numberOf(lines: readonly string[], tag: string): number {
  const line = lines.find((candidate) => candidate.startsWith(`#${tag}:`));
  must(line !== undefined, `there is ${tag}, before EXT-X-SKIP`);
  return Number(line?.slice(tag.length + 2));
}
