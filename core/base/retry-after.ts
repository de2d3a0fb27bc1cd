import { httpDate } from './http-date.ts';

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
