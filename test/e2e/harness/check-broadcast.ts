import { answersReload, type MediaPlaylist, type PlaylistOptions } from '../../hls/checker.ts';
import { Follower } from '../../hls/follower.ts';
import { attributes, must } from '../../hls/rules.ts';

export interface CheckOptions extends PlaylistOptions {
  /** How long it is watched. */
  readonly seconds: number;
  /** How long the server may be away or answer 404 or 503, ms; 0: every such answer fails the check. */
  readonly away?: number;
}

/** What was seen and checked. */
export interface CheckedBroadcast {
  readonly reloads: number;
  /** Reloads that were answered by a delta update. */
  readonly deltas: number;
  /** Hinted parts that were asked for before they were made, and came. */
  readonly preloaded: number;
  readonly files: number;
  /** Seconds of media. */
  readonly duration: number;
  readonly discontinuities: number;
  /** Frames of the picture, or of the sound when there is none. */
  readonly frames: number;
}

/**
 * Watches a broadcast as a low-latency player does: blocking reloads, the hinted part asked for ahead, delta
 * updates where they are offered. Fetches every file that is listed and checks all of it: each playlist, init,
 * part and segment, and one against the other. `url` is that of the multivariant playlist, which must be there.
 * Throws at the first rule that is broken; rules are those of RFC 8216bis and of ISO/IEC 14496-12.
 */
export async function checkBroadcast(url: string, options: CheckOptions): Promise<CheckedBroadcast> {
  const until = performance.now() + options.seconds * 1000;
  const ask = patientFetch(options.away ?? 0);
  const variant = readVariant(await (await ask(url)).text());
  const media = new URL(variant.uri, url).href;
  const preloads = new Map<string, Promise<Uint8Array | undefined>>();
  const counts = { reloads: 0, deltas: 0, preloaded: 0, files: 0 };
  const follower = new Follower(async (uri) => {
    counts.files += 1;
    const early = await preloads.get(uri);
    preloads.delete(uri);
    if (early !== undefined) counts.preloaded += 1;
    return early ?? readFile(await ask(new URL(uri, media).href));
  }, options);

  let last: MediaPlaylist | undefined;
  let lastAt = 0;
  while (performance.now() < until) {
    const asked = last && { msn: last.open.sequence, part: last.open.parts.length };
    const query = new URLSearchParams(
      asked && { _HLS_msn: String(asked.msn), _HLS_part: String(asked.part) },
    );
    const age = (performance.now() - lastAt) / 1000;
    if (last?.canSkipUntil !== undefined && age < last.canSkipUntil / 2) query.set('_HLS_skip', 'YES');
    const answer = await ask(`${media}?${query}`);
    const text = await answer.text();
    must(answer.headers.get('content-type') === 'application/vnd.apple.mpegurl', 'a playlist says its type');
    must(answer.headers.get('access-control-allow-origin') === '*', 'a playlist is for every origin');
    const playlist = await follower.see(text);
    // While nobody publishes it comes back unchanged.
    if (asked !== undefined && playlist.hint !== undefined)
      must(answersReload(playlist, asked), `the reload ${query} is answered with what it asked for`);
    counts.reloads += 1;
    if (text.includes('#EXT-X-SKIP:')) counts.deltas += 1;
    if (playlist.hint !== undefined && !preloads.has(playlist.hint)) {
      const { hint } = playlist;
      preloads.set(hint, preload(new URL(hint, media).href));
    }
    checkCodecs(follower, { codecs: variant.codecs, playlist });
    last = playlist;
    lastAt = performance.now();
  }
  await refusals(media, last);
  const { runs } = follower.media;
  const segments = [...follower.checker.segments.values()];
  return {
    ...counts,
    duration: segments.reduce((sum, { duration }) => sum + duration, 0),
    discontinuities: new Set(segments.map(({ discontinuities }) => discontinuities)).size - 1,
    frames: runs
      .filter(({ track }) => track === runs[0].track)
      .reduce((sum, run) => sum + run.samples.length, 0),
  };
}

/** `fetch` that puts up with a server that is away for so many ms. */
function patientFetch(away: number): (url: string) => Promise<Response> {
  return async (url) => {
    const deadline = performance.now() + away;
    for (;;) {
      let seen: string;
      try {
        const answer = await fetch(url, { signal: AbortSignal.timeout(20_000) });
        if (answer.status === 200) return answer;
        seen = `${answer.status} ${await answer.text()}`;
      } catch (error) {
        seen = String(error);
      }
      if (performance.now() >= deadline) throw new Error(`${url}: ${seen}`);
      await Bun.sleep(200);
    }
  };
}

async function preload(url: string): Promise<Uint8Array | undefined> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(20_000) });
    if (answer.status === 200) return await readFile(answer);
    await answer.arrayBuffer();
  } catch {
    // Whoever needs it asks once more.
  }
  return undefined;
}

async function readFile(answer: Response): Promise<Uint8Array> {
  const { headers } = answer;
  must(headers.get('content-type') === 'video/mp4', 'a file says its type');
  must(headers.get('access-control-allow-origin') === '*', 'a file is for every origin');
  must(/max-age=\d{4,}/.test(headers.get('cache-control') ?? ''), 'a file may be kept');
  const bytes = await answer.bytes();
  must(headers.get('content-length') === String(bytes.length), 'a file says its length');
  return bytes;
}

/** The first variant of a multivariant playlist, 4.4.6. */
function readVariant(text: string): { uri: string; codecs: readonly string[] } {
  const lines = text.split('\n');
  must(lines[0] === '#EXTM3U', 'a multivariant playlist begins with #EXTM3U');
  const at = lines.findIndex((line) => line.startsWith('#EXT-X-STREAM-INF:'));
  must(at > 0 && /^[^#\s]/.test(lines[at + 1] ?? ''), 'it has a variant with its URI behind it');
  const list = attributes(lines[at].slice('#EXT-X-STREAM-INF:'.length));
  must(/^[1-9]\d*$/.test(list.get('BANDWIDTH') ?? ''), 'a variant says its BANDWIDTH');
  return { uri: lines[at + 1], codecs: (list.get('CODECS') ?? '').split(',') };
}

/** What the first init says of its codecs is what the multivariant playlist says. */
function checkCodecs(
  follower: Follower,
  options: { codecs: readonly string[]; playlist: MediaPlaylist },
): void {
  const { codecs, playlist } = options;
  const map = playlist.segments[0]?.map;
  const bytes = map === undefined ? undefined : follower.fetched.get(map);
  if (
    map === undefined ||
    bytes === undefined ||
    playlist.open.discontinuities !== playlist.segments[0].discontinuities
  )
    return;
  const tracks = follower.media.init(map, bytes);
  must(tracks.length === codecs.length, `CODECS ${codecs} name ${tracks.length} tracks`);
  for (const { entry } of tracks)
    must(entry.codec === undefined || codecs.includes(entry.codec), `CODECS ${codecs} have ${entry.codec}`);
}

/** Directives that must be refused, and those that must be let be, 6.2.5. */
async function refusals(media: string, last: MediaPlaylist | undefined): Promise<void> {
  const next = last?.open.sequence ?? 0;
  const cases: [string, number][] = [
    ['_HLS_part=0', 400],
    ['_HLS_msn=x', 400],
    [`_HLS_msn=${next + 60}`, 400],
    [`_HLS_msn=${next - 1}&_HLS_part=-1`, 400],
    [`_HLS_msn=${next - 2}`, 200],
    ['_HLS_unknown=1&other=2', 200],
  ];
  for (const [query, status] of cases) {
    const answer = await fetch(`${media}?${query}`, { signal: AbortSignal.timeout(20_000) });
    await answer.arrayBuffer();
    must(answer.status === status, `?${query} is ${status}, not ${answer.status}`);
  }
}
