/**
 * The state of one chunk stream is STRIDE numbers in a Uint32Array that all of a connection share: these are
 * their places. Unsigned 32-bit cells make timestamps wrap by themselves.
 */
export const STRIDE = 9;
export const CSID = 0;
/** Timestamp of its last message. */
export const TIME = 1;
/** Timestamp field of its last full header: what fmt 3 adds and repeats. */
export const FIELD = 2;
export const EXTENDED = 3;
export const LENGTH = 4;
export const TYPE = 5;
/** Message stream id. */
export const STREAM = 6;
/** Bytes its message still lacks; above 0, it is in progress. */
export const LEFT = 7;
export const TARGET = 8;

/** Values of TARGET: where the payload goes. */
export const SKIP = 0;
export const VIDEO = 1;
export const AUDIO = 2;
/** To `onControl`; put together aside unless it comes in one piece. */
export const CONTROL = 3;
/** Media that is put together aside and then appended to its arena. */
export const SIDE = 4;
