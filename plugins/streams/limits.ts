/** Live figures are read from the media and published this often, ms. */
export const publishInterval = 1000;
/** So long others believe them, ms: longer than a process may be busy with something else. */
export const figuresLast = 5000;
/** After the last publish was let in, this long may pass before it shows among the readings, ms. */
export const attachTime = 15_000;
/** Broadcasts that are looked at in one turn of the event loop, some 10 µs each. */
export const turnLength = 50;
/** Issues of one broadcast that are shown; further ones are left out. */
export const mostIssues = 20;
