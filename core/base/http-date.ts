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
