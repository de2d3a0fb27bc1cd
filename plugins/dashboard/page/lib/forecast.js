/** Between two readings that are kept, ms. */
const every = 300_000;
/** Readings that are kept: of more, every other one goes. */
const most = 200;
/** ms from which on a forecast says something, and for which readings count. */
const leastSpan = 3_600_000;
const longestSpan = 7 * 86_400_000;
const day = 86_400_000;

/** Readings with one more, `{at, free}`, oldest first; the same when the last one is too new. */
export function withReading(readings, reading) {
  const known = readings.filter(({ at }) => at < reading.at && reading.at - at < longestSpan);
  const last = known.at(-1);
  if (last && reading.at - last.at < every) return known;
  const all = [...known, reading];
  return all.length > most ? all.filter((_, index) => index % 2 === 1) : all;
}

/**
 * When a disk will be full if it goes on as in the readings: by a line through them.
 *
 * `{kind: 'unknown', span}`: they are of too short a time; `{kind: 'steady', span}`: it does not fill; `{kind: 'fills', span, perDay,
 * left}`: bytes a day, and ms until it is full. `span` in ms.
 */
export function forecastOf(readings, { free, total }) {
  const first = readings[0];
  const last = readings.at(-1);
  const span = first ? last.at - first.at : 0;
  if (readings.length < 3 || span < leastSpan) return { kind: 'unknown', span };
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [at, used] = [mean(readings.map((one) => one.at)), mean(readings.map((one) => one.free))];
  const fall = readings.reduce((sum, one) => sum - (one.at - at) * (one.free - used), 0);
  const spread = readings.reduce((sum, one) => sum + (one.at - at) ** 2, 0);
  const perDay = (fall / spread) * day;
  // Less than this is what logs and temporary files do.
  if (perDay < total / 10_000) return { kind: 'steady', span };
  return { kind: 'fills', span, perDay, left: (free / perDay) * day };
}
