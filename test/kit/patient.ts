/** For `vi.waitUntil`, for what comes by a thread of the pool or another process: soon, and far later on a busy machine. */
export const patient = { timeout: 20_000, interval: 1 };
