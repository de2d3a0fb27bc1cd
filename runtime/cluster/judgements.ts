import { type FaultData, mistake } from './answer.ts';
import { clusterLimits } from './limits.ts';
import type { Trouble } from './parts.ts';

/**
 * What came of records and timers of one partition that it could not go on from, kept when it is begun anew: one that
 * breaks it again and again must not do so for ever.
 */
export class Judgements {
  readonly #verdicts = new Map<number | string, FaultData>();
  #last: number | string | undefined;
  #times = 0;

  verdict(of: number | string): FaultData | undefined {
    return this.#verdicts.get(of);
  }

  condemn(one: number | string, verdict: FaultData): void {
    this.#verdicts.set(one, verdict);
    if (this.#verdicts.size <= clusterLimits.verdicts) return;
    const [oldest] = this.#verdicts.keys();
    this.#verdicts.delete(oldest!);
  }

  /**
   * The partition broke there. Returns how often in a row it did. A gap is no fault of what met it: the store is at another
   * place than was thought.
   */
  broke({ why, at, isForGood = false }: Pick<Trouble, 'why' | 'at' | 'isForGood'>): number {
    this.#times = at !== undefined && at === this.#last ? this.#times + 1 : 1;
    this.#last = at;
    const isHopeless = isForGood || (why !== 'gap' && this.#times >= clusterLimits.tries);
    if (at !== undefined && isHopeless && !this.#verdicts.has(at)) this.condemn(at, mistake);
    return this.#times;
  }
}
