/** How much of the work at a file is done when it is an mp4 on this node, and when it is about to be stored. */
export const stage = { normalised: 0.95, storing: 0.97 };

/** And when it has come: what may have to be normalised first takes its time, and nobody knows before. */
export function comeStage(isNormalised: boolean): number {
  return isNormalised ? 0.5 : stage.normalised;
}
