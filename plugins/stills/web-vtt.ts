/** A stretch of a film, seconds. */
export interface Cue {
  readonly from: number;
  readonly to: number;
}

/**
 * A file of cues whose text is a place on a sheet of pictures, as players take it for their seek bar: WebVTT (W3C), with spatial
 * media fragments (`#xywh=`, Media Fragments URI 1.0 §4.2.2).
 */
export function webVtt(
  cues: readonly Cue[],
  options: { sheet: string; columns: number; width: number; height: number },
): string {
  const { sheet, columns, width, height } = options;
  const written = cues.map(({ from, to }, row) => {
    const x = (row % columns) * width;
    const y = Math.floor(row / columns) * height;
    return `\n${timestamp(from)} --> ${timestamp(to)}\n${sheet}#xywh=${x},${y},${width},${height}\n`;
  });
  return `WEBVTT\n${written.join('')}`;
}

/** `hh:mm:ss.ttt`. */
function timestamp(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const part = (size: number, of: number, digits: number) =>
    String(Math.floor(ms / size) % of).padStart(digits, '0');
  const hours = String(Math.floor(ms / HOUR)).padStart(2, '0');
  return `${hours}:${part(MINUTE, 60, 2)}:${part(SECOND, 60, 2)}.${part(1, SECOND, 3)}`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
