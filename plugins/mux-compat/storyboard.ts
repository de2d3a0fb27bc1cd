/** A picture of a storyboard: when it is shown, and where it is on the sheet. */
export interface Tile {
  /** Seconds. */
  readonly start: number;
  readonly end: number;
  /** Pixels. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The pictures that a WebVTT file names by media fragments (`#xywh=`). */
export function tilesIn(vtt: string): Tile[] {
  const cues = vtt.matchAll(/^([\d:.]+) --> ([\d:.]+)\n\S+#xywh=(\d+),(\d+),(\d+),(\d+)$/gm);
  return [...cues].map(([, from, to, ...place]) => {
    const [x, y, width, height] = place.map(Number);
    return { start: secondsOf(from), end: secondsOf(to), x, y, width, height };
  });
}

/** The same file with pictures of the sheet at this address. */
export function withSheet(vtt: string, sheet: string): string {
  return vtt.replace(/^\S+(?=#xywh=)/gm, () => sheet);
}

/** As Mux describes it: `storyboard.json`. */
export function storyboardJson(tiles: readonly Tile[], sheet: string) {
  return {
    url: sheet,
    tile_width: tiles[0]?.width ?? 0,
    tile_height: tiles[0]?.height ?? 0,
    duration: tiles.at(-1)?.end ?? 0,
    tiles: tiles.map(({ start, x, y }) => ({ start, x, y })),
  };
}

/** `hh:mm:ss.ttt`. */
function secondsOf(timestamp: string): number {
  const seconds = timestamp.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return Math.round(seconds * 1000) / 1000;
}
