import type { PlayPass } from '../plugin/decide.ts';

/** Characters of a playlist that are rewritten in one turn of the event loop: some 0.3 ms. */
const slice = 32_768;

/**
 * A playlist of this program whose URIs carry a pass (RFC 8216bis 4.1: lines without `#`, and `URI` attributes). URIs of other hosts
 * are left as they are. A long one comes in slices. Undefined: `maxHeight` leaves no variant.
 */
export function withPass(text: string, pass: PlayPass): string | ReadableStream<Uint8Array> | undefined {
  const { maxHeight } = pass;
  const isMultivariant = text.includes('\n#EXT-X-STREAM-INF:');
  if (maxHeight === undefined || !isMultivariant) {
    const token = pass.token();
    return text.length <= slice ? carrying(text, token) : slices(text, token);
  }
  const { left, variants } = upTo(maxHeight, text);
  return variants.length === 0 ? undefined : carrying(left, pass.token(variants));
}

/** The cues of a storyboard: each names a part of a picture beside it (`storyboard.jpg#xywh=0,0,256,144`). */
export function picturesWithPass(text: string, pass: PlayPass): string {
  return text.replace(/^[\w.-]+\.jpg(?=#xywh=)/gm, (picture) => `${picture}?token=${pass.token()}`);
}

function carrying(text: string, token: string): string {
  const known = split.get(text);
  if (known) return known.join(token);
  const pieces = piecesOf(text);
  split.set(text, pieces);
  const [oldest = ''] = split.keys();
  if (split.size > maxSplit) split.delete(oldest);
  return pieces.join(token);
}

/** Playlists of at most a slice each that viewers got last: many get the same. */
const maxSplit = 64;
const split = new Map<string, readonly string[]>();

/** What stands before, between and behind the tokens. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  for (const { 0: uri, index } of text.matchAll(uris)) {
    if (foreign.test(uri)) continue;
    const end = index + uri.length;
    pieces.push(`${text.slice(from, end)}${uri.includes('?') ? '&' : '?'}token=`);
    from = end;
  }
  pieces.push(text.slice(from));
  return pieces;
}

const uris = /^[^#\n][^\n]*|\bURI="[^"\n]*/gm;
/** A URI with a scheme or a host. */
const foreign = /^(?:URI=")?(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

function slices(text: string, token: string): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let from = 0;
  return new ReadableStream({
    async pull(controller) {
      // Others get their turn between two slices.
      await new Promise<void>((resolve) => setImmediate(resolve));
      const end = text.indexOf('\n', Math.min(from + slice, text.length - 1)) + 1 || text.length;
      controller.enqueue(encoder.encode(piecesOf(text.slice(from, end)).join(token)));
      from = end;
      if (from >= text.length) controller.close();
    },
  });
}

/** Without the variants that are higher. `variants`: numbers of those that are left. */
function upTo(maxHeight: number, text: string): { left: string; variants: number[] } {
  const variants: number[] = [];
  const left = text.replace(/^#EXT-X-STREAM-INF:([^\n]*)\n([^\n]*)\n/gm, (lines, attributes, uri) => {
    const height = Number(/\bRESOLUTION=\d+x(\d+)/.exec(attributes)?.[1] ?? 0);
    if (height > maxHeight) return '';
    const variant = variantOf(uri.replace(/\?.*$/, ''));
    if (typeof variant === 'number') variants.push(variant);
    return lines;
  });
  return { left, variants };
}

/**
 * Number of the variant that a file belongs to, live or of a film: 0 is the source. `shared`: inits, which variants have in common,
 * the multivariant playlist, texts. Undefined for any other name.
 */
export function variantOf(file: string): number | 'shared' | undefined {
  if (file === 'source.m3u8' || file === 'dvr.m3u8') return 0;
  const [, rendition] = renditionFile.exec(file) ?? [];
  if (rendition !== undefined) return Number(rendition);
  if (sourceFile.test(file)) return 0;
  return sharedFile.test(file) ? 'shared' : undefined;
}

/** `r1.m3u8`; `r1seg0.mp4` of films, `<prefix>_r1_seg0.mp4` and `<prefix>_r1_part0.0.mp4` of what is live. */
const renditionFile = /^(?:r(?=\d+\.m3u8$)|r(?=\d+seg\d)|[0-9a-z]+_r(?=\d+_(?:seg|part)\d))(\d+)/;
/** `<prefix>_dvr0.mp4` is of the beginning of a broadcast. */
const sourceFile = /^(?:[0-9a-z]+_)?(?:seg|part|dvr)\d/;
const sharedFile =
  /^(?:index\.m3u8|t\d+\.m3u8|text_[^/]*|(?:[0-9a-z]+_)?(?:r\d+_?|dvr)?init\d+\.mp4|[0-9a-z]+_t\d+_[^/]*\.vtt)$/;
