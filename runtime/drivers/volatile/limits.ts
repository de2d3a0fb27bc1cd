/** Entries kept in memory at one time, about 1 KB each for live figures; with more, new keys are refused. */
export const mostEntries = 200_000;
/** What nobody set again is swept at most this often, ms, by whoever sets something. */
export const sweepInterval = 10_000;
