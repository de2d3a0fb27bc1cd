import { PICTURE_RUN, SOUND_RUN } from './fragment.ts';
import { type FragmentRun, readFragment } from './fragment-reader.ts';
import { Refusal } from './inspect/boxes.ts';
import { mostTracks } from './read-init.ts';

/** A fragment that `fragment.ts` wrote. */
export interface OwnFragment {
  /** Their places count from the moof box. */
  readonly runs: readonly FragmentRun[];
  /** Bytes of the mdat that must follow, its header included. */
  readonly dataSize: number;
}

/** Reads the moof of `size` bytes at `at` of `view`, which the runs refer to. Undefined: it is damaged, or not ours. */
export function readOwnFragment(view: DataView, at: number, size: number): OwnFragment | undefined {
  const moof = { type: 'moof', view, from: at + 8, to: at + size };
  try {
    const runs = readFragment(moof, { at: 0, most: size, trackOf: () => ({ defaults: none }) });
    let data = size + 8;
    for (const run of runs) {
      // Side by side, so that a damaged number shows.
      const isOwn = ownColumns.has(run.flags) && run.track > 0 && run.rows.count > 0;
      if (!isOwn || run.at !== data) return undefined;
      data += run.bytes;
    }
    const dataSize = data - size;
    const isWhole = runs.length > 0 && runs.length <= mostTracks && dataSize <= 0xffffffff;
    return isWhole ? { runs, dataSize } : undefined;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const none = { duration: 0, size: 0, flags: 0, entry: 1 };
/** Without the version in front of the flags. */
const ownColumns: ReadonlySet<number> = new Set([SOUND_RUN & 0xffffff, PICTURE_RUN & 0xffffff]);
