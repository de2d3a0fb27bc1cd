/** How far the clock of the server is ahead of this browser's, ms. */
let ahead = 0;
/** Less than this is of the network, and of the whole seconds of `Date`, ms. */
const tolerance = 5000;

/** Reads the clock of the server from the `Date` of an answer. */
export function noteDate(header) {
  const found = Date.parse(header ?? '') - Date.now();
  if (Number.isNaN(found)) return;
  ahead = Math.abs(found) < tolerance ? 0 : found;
}

/** Now by the clock of the server, epoch ms: its times are compared with this one. */
export const serverNow = () => Date.now() + ahead;
