import { count } from './writer.ts';

const interval = 1000;

/** What viewers of one stream meet at one node, looked at once a second. */
export interface View {
  /** Longest time without anything new in the playlist, ms, and when it began (performance.now()). */
  longestStall: number;
  stalledAt: number;
  discontinuities: number;
  readonly statuses: Map<string, number>;
}

/**
 * Reads the media playlists of these streams through a node, again and again. A stall of one that is on the air the
 * whole time is the media's fault; of others it counts from where they are there again.
 */
export function viewers(
  url: string,
  playbackIds: readonly string[],
): { views: ReadonlyMap<string, View>; stop(): Promise<void> } {
  const stopping = new AbortController();
  const views = new Map<string, View>();
  const watch = async (playbackId: string) => {
    const view: View = { longestStall: 0, stalledAt: 0, discontinuities: 0, statuses: new Map() };
    views.set(playbackId, view);
    let path: string | undefined;
    let newest = '';
    let changedAt = performance.now();
    const seen = new Set<string>();
    while (!stopping.signal.aborted) {
      try {
        path ??= await variantOf(`${url}/hls/${playbackId}/index.m3u8`);
        const answer = await fetch(path, { signal: AbortSignal.timeout(10_000) });
        const text = await answer.text();
        count(view.statuses, String(answer.status));
        if (answer.ok) {
          const now = performance.now();
          const last = newestOf(text);
          if (last !== newest) changedAt = now;
          else if (now - changedAt > view.longestStall) {
            view.longestStall = now - changedAt;
            view.stalledAt = changedAt;
          }
          newest = last;
          for (const mark of discontinuitiesOf(text)) seen.add(mark);
          view.discontinuities = seen.size;
        } else {
          path = undefined;
          changedAt = performance.now();
        }
      } catch (error) {
        const { name, message } = error as Error;
        count(view.statuses, /^\d{3}$/.test(message) ? message : name);
        if (/^\d{3}$/.test(message)) changedAt = performance.now();
      }
      await Bun.sleep(interval);
    }
  };
  const all = playbackIds.map(watch);
  return {
    views,
    async stop() {
      stopping.abort();
      await Promise.all(all);
    },
  };
}

async function variantOf(url: string): Promise<string> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(String(answer.status));
  const variant = text.split('\n').find((line) => line !== '' && !line.startsWith('#'));
  if (!variant) throw new Error(`${url} lists no variant`);
  return new URL(variant, url).href;
}

/** The last line that names media: of a part or a segment. */
function newestOf(text: string): string {
  const lines = text.split('\n').filter((line) => /^(#EXT-X-PART:|[^#\s])/.test(line));
  return lines.at(-1) ?? '';
}

/** Each by the segment that follows it, which is listed for some time. */
function discontinuitiesOf(text: string): string[] {
  const marks: string[] = [];
  let isOpen = false;
  for (const line of text.split('\n')) {
    if (line.startsWith('#EXT-X-DISCONTINUITY') && !line.startsWith('#EXT-X-DISCONTINUITY-SEQUENCE'))
      isOpen = true;
    else if (isOpen && line !== '' && !line.startsWith('#')) {
      marks.push(line);
      isOpen = false;
    }
  }
  return marks;
}
