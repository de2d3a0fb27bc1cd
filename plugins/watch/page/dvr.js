import { pathOf, withToken } from './look-up.js';

/**
 * Seconds of media at which something was live, epoch ms. The list of segments decides: over a reconnect, media has no
 * time for the break.
 */
export function placeOf(moment, fragments) {
  const found = fragments.findLast(({ programDateTime }) => programDateTime <= moment) ?? fragments[0];
  if (!found) return undefined;
  const within = Math.max(0, (moment - found.programDateTime) / 1000);
  return found.start + Math.min(within, Math.max(0, found.duration - 0.1));
}

/** When the broadcast began whose playlist this is, epoch ms; undefined unless it is recorded, so that one can go back in it. */
export async function beginningOf(source, { token }) {
  const ask = async (path) => {
    const answer = await fetch(path, { ...withToken(token).fetch, signal: AbortSignal.timeout(15_000) });
    return answer.ok ? answer : undefined;
  };
  try {
    const whole = await (await ask(`${source}?dvr=1`))?.text();
    const name = whole?.match(/^[^#\s].*$/m)?.[0];
    if (name === undefined) return undefined;
    const list = await ask(pathOf(new URL(name, new URL(source, location.href))));
    return list && (await firstMoment(list.body.pipeThrough(new TextDecoderStream())));
  } catch {
    return undefined;
  }
}

/** Of a playlist that may be megabytes long only the head is read. */
async function firstMoment(lines) {
  let head = '';
  for await (const text of lines) {
    head += text;
    const found = /^#EXT-X-PROGRAM-DATE-TIME:(.+)$/m.exec(head.slice(0, head.lastIndexOf('\n')));
    if (found) return Date.parse(found[1]);
    if (head.length > LONGEST_HEAD) return undefined;
  }
  return undefined;
}

/** Characters; the first segment stands in the first few lines. */
const LONGEST_HEAD = 16_384;
