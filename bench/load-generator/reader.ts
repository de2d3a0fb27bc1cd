export interface Reader {
  readonly bytes: number;
  readonly segments: number;
  readonly failures: number;
}

/** Wait between two readings of the playlist, ms. */
const interval = 1000;

/** Watches as a plain HLS player does: the playlist once a second, then every segment that is new in it. */
export function readPlaylist(url: string, options: { signal: AbortSignal }): Reader {
  const { signal } = options;
  const counts = { bytes: 0, segments: 0, failures: 0 };
  void watch();
  return counts;

  async function watch(): Promise<void> {
    const seen = new Set<string>();
    let media = url;
    while (!signal.aborted) {
      const text = (await get(media))?.toString();
      if (text?.includes('#EXT-X-STREAM-INF')) {
        media = new URL(uris(text)[0] ?? '', media).href;
        continue;
      }
      const names = text === undefined ? [] : uris(text);
      // It joins at the live edge.
      if (seen.size === 0) for (const name of names.slice(0, -3)) seen.add(name);
      for (const name of names) {
        if (seen.has(name)) continue;
        seen.add(name);
        const body = await get(new URL(name, media).href);
        if (body === undefined) continue;
        counts.segments += 1;
        counts.bytes += body.length;
      }
      await Bun.sleep(interval);
    }
  }

  async function get(address: string): Promise<Buffer | undefined> {
    try {
      const answer = await fetch(address, { signal });
      const body = Buffer.from(await answer.arrayBuffer());
      if (answer.ok) return body;
    } catch {
      // Counted below like any other failure.
    }
    if (!signal.aborted) counts.failures += 1;
    return undefined;
  }
}

function uris(playlist: string): string[] {
  return playlist.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}
