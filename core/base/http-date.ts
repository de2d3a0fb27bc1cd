/**
 * Epoch ms of a date in one of the three forms of RFC 9110 §5.6.7; undefined for all else. A year of two digits is
 * of 1950 to 2049.
 */
export function httpDate(text: string | null | undefined): number | undefined {
  if (text == null || !dated.test(text)) return undefined;
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? undefined : at;
}

const dated =
  /^(?:\w{3,9}, \d{2}[ -]\w{3}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT|\w{3} \w{3} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

/**
 * Whole seconds from `now` (epoch ms) that `Retry-After` asks for, as a number or a date (RFC 9110 §10.2.3); 0 for a date that is past.
 * Never more than `most`, ms. Undefined: it says nothing that could be obeyed.
 */
export function retryAfter(
  text: string | undefined,
  { now, most }: { now: number; most: number },
): number | undefined {
  if (text === undefined) return undefined;
  const at = /^\d+$/.test(text) ? now + Number(text) * 1000 : httpDate(text);
  return at === undefined ? undefined : Math.ceil(Math.min(Math.max(0, at - now), most) / 1000);
}
