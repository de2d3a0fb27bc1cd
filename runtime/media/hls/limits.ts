/** Bounds of what one publish may leave open. Those an operator would change are in `config.ts`. */
export const ingestLimits = {
  /** Milliseconds that another track than one in a refused codec is waited for. Beyond: the publish ends. */
  refusalPatience: 5000,
  /** Frames in a row that may come before their sequence header. Beyond: an issue; they are dropped either way. */
  unheadedFrames: 250,
} as const;
