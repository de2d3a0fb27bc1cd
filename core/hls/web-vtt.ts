/** WebVTT as segments of HLS (RFC 8216bis 3.1.4), the same for live and stored media. */

/** One text on show. */
export interface VttCue {
  /** ms */
  readonly start: number;
  readonly end: number;
  /** As `cuePayload` writes it. */
  readonly payload: string;
}

/** Which media time the time 0 of the cues is. `ticks`: of 1/90000 s, as media has them. */
export function timestampMap(ticks: number): string {
  // An MPEG-2 timestamp has 33 bits.
  return `X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:${Math.round(ticks) % 2 ** 33}`;
}

/** A file of these cues, whose times are those of the media. */
export function webVtt(cues: readonly VttCue[]): string {
  const blocks = [...cues]
    .sort((one, other) => one.start - other.start)
    .map(({ start, end, payload }) => {
      const from = Math.round(start);
      const to = Math.max(Math.round(end), from + 1);
      return `${timestamp(from)} --> ${timestamp(to)}\n${payload}\n\n`;
    });
  return `WEBVTT\n${timestampMap(0)}\n\n${blocks.join('')}`;
}

/** Plain text as the payload of a cue: nothing in it ends the cue or counts as markup. Empty: there is nothing to show. */
export function cuePayload(text: string): string {
  const lines = text
    .toWellFormed()
    .split(/\r\n|\n|\r/)
    .map((line) => line.replace(/\p{Cc}/gu, ' ').trim())
    .filter((line) => line !== '');
  return lines.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** @param time whole ms */
function timestamp(time: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const milliseconds = String(time % 1000).padStart(3, '0');
  return `${two(time / 3_600_000)}:${two((time / 60_000) % 60)}:${two((time / 1000) % 60)}.${milliseconds}`;
}
