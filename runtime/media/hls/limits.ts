/** Bounds of what one publish may leave open. Those an operator would change are in `config.ts`. */
export const ingestLimits = {
  /** Milliseconds that another track than one in a refused codec is waited for. Beyond: the publish ends. */
  refusalPatience: 5000,
  /** Frames in a row that may come before their sequence header. Beyond: an issue; they are dropped either way. */
  unheadedFrames: 250,
  /** Bytes of a sequence header, of which each init segment holds one. Longer: an issue; it is not used. */
  headerBytes: 65_536,
  /**
   * Segments kept behind the list for who still reads it. Beyond, the oldest goes before its time: only media
   * that comes much faster than time passes gets there.
   */
  unlistedSegments: 100,
} as const;
