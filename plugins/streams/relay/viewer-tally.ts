import { valuesOf } from '../../../core/base/limit-table.ts';
import { relayLimits } from './limits.ts';

const { slice, viewers: mostViewers, viewersTold } = valuesOf(relayLimits);

/**
 * Who watches what through this node, to be told to the node that counts: each viewer once in a slice of time, so that
 * a viewer who comes through several nodes is one there, and one request for a thousand does not count as one.
 */
export class ViewerTally {
  readonly #lists = new Map<string, { seen: Set<string>; untold: string[] }>();
  #slice = 0;
  #size = 0;

  /** Viewers remembered now. */
  get size(): number {
    return this.#size;
  }

  /** A viewer asked for this playlist. */
  saw(playlist: string, viewer: string, now: number): void {
    this.#turn(now);
    const list = this.#lists.get(playlist) ?? { seen: new Set(), untold: [] };
    if (list.seen.has(viewer) || this.#size >= mostViewers) return;
    this.#lists.set(playlist, list);
    list.seen.add(viewer);
    list.untold.push(viewer);
    this.#size += 1;
  }

  /** Those whom the next request for this playlist tells of; they are not given out again in this slice. */
  take(playlist: string): readonly string[] {
    return this.#lists.get(playlist)?.untold.splice(0, viewersTold) ?? [];
  }

  #turn(now: number): void {
    const number = Math.floor(now / slice);
    if (number === this.#slice) return;
    this.#slice = number;
    this.#lists.clear();
    this.#size = 0;
  }
}
