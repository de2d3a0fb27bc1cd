interface ThinningRate {
  readonly fps: number;
  readonly fpsDen: number;
}

/**
 * A filter that lets at most so many pictures a second through: the first of each slot of 1/fps. No time is changed, and nothing is
 * doubled: a source with fewer pictures keeps its own. (The filter `fps` does both: out of a small film with pictures far
 * apart it makes millions.)
 *
 * `fromKeyFrames`: slots are counted from the last key frame, and key frames are always among them, so that segments begin with
 * them on all renditions at the same time. Otherwise they are counted from the start, and what is a key frame makes no difference:
 * in many films all are.
 *
 * The first of all is kept in any case: behind `trim` it is mostly no key frame of the source, and without it nothing would come
 * before the next one.
 */
export function thinning(
  { fps, fpsDen }: ThinningRate,
  { fromKeyFrames }: { fromKeyFrames: boolean },
): string {
  const since = (time: string) => (fromKeyFrames ? `(${time}-ld(0))` : time);
  // A tenth of a slot early, because times of RTMP are whole milliseconds.
  const slot = (time: string) => `floor(${since(time)}*${fps}/${fpsDen}+0.1)`;
  const isNext = `gt(${slot('t')},${slot('prev_selected_t')})`;
  return fromKeyFrames
    ? `select='if(key+isnan(prev_selected_t),st(0,t)*0+1,${isNext})'`
    : `select='if(isnan(prev_selected_t),1,${isNext})'`;
}
