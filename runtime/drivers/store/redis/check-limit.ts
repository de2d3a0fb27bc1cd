/** Bounds what one read can cost everybody. */
export function checkLimit(limit: number, most: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw new RangeError(`limit ${limit} is outside 1..${most}`);
  }
}
