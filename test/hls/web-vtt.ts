import { must } from './rules.ts';

/** A cue as a player reads it. Times in ms on the timeline of the media. */
export interface ReadCue {
  readonly start: number;
  readonly end: number;
  /** With its escapes resolved; markup that is not escaped throws. */
  readonly text: string;
}

/** Reads a WebVTT segment strictly (WebVTT 4.1, RFC 8216bis 3.1.4); anything else throws. */
export function readWebVtt(text: string): ReadCue[] {
  must(!text.includes('\r') && !text.includes('\0'), 'lines end with LF, and there is no NUL');
  const [head, ...blocks] = text.replace(/\n+$/, '').split(/\n\n+/);
  const [magic, map, ...rest] = head.split('\n');
  must(magic === 'WEBVTT' && rest.length === 0, `a header and a map, not ${head}`);
  const mapped = /^X-TIMESTAMP-MAP=LOCAL:(\d\d+:\d\d:\d\d\.\d{3}),MPEGTS:(\d{1,10})$/.exec(map ?? '');
  must(mapped !== null && Number(mapped[2]) < 2 ** 33, `a timestamp map, not ${map}`);
  const shift = Number(mapped?.[2]) / 90 - timeOf(mapped?.[1] ?? '');
  let last = Number.NEGATIVE_INFINITY;
  return blocks.map((block) => {
    const [timing, ...payload] = block.split('\n');
    const times = /^(\S+) --> (\S+)$/.exec(timing);
    must(times !== null && payload.length > 0, `a cue is its times and its text, not ${block}`);
    const start = timeOf(times?.[1] ?? '') + shift;
    const end = timeOf(times?.[2] ?? '') + shift;
    must(end > start && start >= last, `cues last, and come in order: ${block}`);
    last = start;
    const raw = payload.join('\n');
    must(!/<|>|&(?!(amp|lt|gt);)/.test(raw), `nothing in a text is markup: ${raw}`);
    const plain = raw.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
    return { start, end, text: plain };
  });
}

function timeOf(text: string): number {
  const match = /^(\d\d+):([0-5]\d):([0-5]\d)\.(\d{3})$/.exec(text);
  must(match !== null, `a time, not ${text}`);
  const [hours, minutes, seconds, milliseconds] = (match ?? []).slice(1).map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
}
