import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/** Newcomers that were refused because a key is in use (`busyKey: "refuse"`): the owner should hear of it. */
export interface Refusals {
  /** One was refused just now. */
  note(streamId: string): void;
  /** Whether one was refused a little while ago. */
  isRecent(streamId: string): boolean;
}

/** Kept in memory, like live figures: an encoder that tries again and again must not cost a write each time. */
function refusals(kit: Pick<StreamsKit, 'clock'>): Refusals {
  const { refusalShown, refusalsKept } = streamLimits;
  const times = new Map<string, number>();
  return {
    note(streamId) {
      times.delete(streamId);
      times.set(streamId, kit.clock.now());
      const [oldest] = times.keys();
      if (times.size > refusalsKept.value && oldest !== undefined) times.delete(oldest);
    },
    isRecent(streamId) {
      const at = times.get(streamId);
      return at !== undefined && kit.clock.now() - at < refusalShown.value;
    },
  };
}

const known = new WeakMap<StreamsKit, Refusals>();

/** Those of one running program. */
export function refusalsOf(kit: StreamsKit): Refusals {
  const own = known.get(kit) ?? refusals(kit);
  known.set(kit, own);
  return own;
}
