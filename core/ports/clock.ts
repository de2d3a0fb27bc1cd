/**
 * Time, as the program sees it. Nothing outside a driver of this port asks the system for the time or
 * starts a timer, so that tests can run hours in milliseconds.
 */
export interface Clock {
  /** Now, in epoch milliseconds. */
  now(): number;
  /**
   * Runs `action` once, at `due` (epoch milliseconds) or at once when that is past. Returns its cancel. Where the clock is set
   * back meanwhile a wait of minutes is not longer for it: `now` may then be less than `due`.
   */
  at(due: number, action: () => void): () => void;
}
