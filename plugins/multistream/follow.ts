import type { PushFact, PushTrouble } from '../../core/ports/pusher.ts';
import type { Holder } from '../../machines/push.ts';
import type { MultistreamKit } from './config.ts';
import { type Pushed, type PushFacts, pushFacts } from './facts.ts';
import { multistreamLimits } from './limits.ts';

/**
 * Makes of what the pusher reports what the actors are told: which push of which session it is, and who says so. A push that
 * goes on while its publish or even its session is another is told anew, as it is.
 */
export function pushFollower(kit: MultistreamKit): PushFollower {
  const facts = pushFacts(kit);
  /** By playlist, what is wanted of it: push id → what it is. */
  const wanted = new Map<string, ReadonlyMap<string, WantedPush>>();
  /** Those of which something was told, until they have ended. */
  const running = new Map<string, Running>();
  let begun = 0;
  let onIdle = () => {};

  const begin = (of: WantedPush): Running => {
    begun += 1;
    const { node } = kit.deployment;
    const token = `${node.incarnation}/${begun}`;
    const holder = {
      token,
      node: node.id,
      incarnation: node.incarnation,
      publish: of.publish,
      number: begun,
    };
    facts.add(of, { type: 'begun', holder });
    return { of, holder, isConnected: false, trouble: undefined };
  };
  /** As it is, to an actor that has just heard of who pushes. */
  const tellState = ({ of, holder: { token }, isConnected, trouble }: Running) => {
    if (isConnected) facts.add(of, { type: 'connected', token });
    else if (trouble) facts.add(of, { type: 'failed', token, trouble });
  };
  /** Its next publish may be of another session, and another node may have pushed in between: who is told now knows nothing yet. */
  const goOn = (one: Running, now: WantedPush) => {
    one.of = now;
    if (one.holder.publish === now.publish) return;
    one.holder = { ...one.holder, publish: now.publish };
    facts.add(now, { type: 'begun', holder: one.holder });
    tellState(one);
  };

  return {
    wants(playbackId, pushes) {
      if (pushes.size === 0) wanted.delete(playbackId);
      else wanted.set(playbackId, pushes);
      for (const [id, now] of pushes) {
        const one = running.get(keyOf(playbackId, id));
        if (one) goOn(one, now);
      }
    },
    report(fact) {
      const key = keyOf(fact.playbackId, fact.id);
      let one = running.get(key);
      if (!one) {
        const of = wanted.get(fact.playbackId)?.get(fact.id);
        // Of one that ends before anything was told of it there is nothing to tell.
        if (!of || fact.type === 'ended') return;
        one = begin(of);
        running.set(key, one);
      }
      const { of, holder } = one;
      const { token } = holder;
      if (fact.type === 'connected') {
        Object.assign(one, { isConnected: true, trouble: undefined });
        facts.add(of, { type: 'connected', token });
      } else if (fact.type === 'ended') {
        running.delete(key);
        facts.add(of, { type: 'ended', token });
        if (running.size === 0) onIdle();
      } else if (fact.type === 'slow') {
        facts.add(of, { type: 'slow', token, trouble: fact.trouble });
      } else {
        // An attempt that fails as the one before it changes nothing, and there are thousands a day.
        const isNews = fact.type === 'lost' || one.trouble?.reason !== fact.trouble.reason;
        Object.assign(one, { isConnected: false, trouble: fact.trouble });
        if (isNews) facts.add(of, { type: fact.type, token, trouble: fact.trouble });
      }
    },
    get waiting() {
      return facts.waiting;
    },
    async ended() {
      const { clock } = kit;
      if (running.size > 0) {
        await new Promise<void>((resolve) => {
          const cancel = clock.at(clock.now() + multistreamLimits.stopWait.value, resolve);
          onIdle = () => {
            cancel();
            resolve();
          };
        });
      }
      await facts.told();
    },
  };
}

export interface PushFollower extends Pick<PushFacts, 'waiting'> {
  /** What is to be pushed of a playlist from now on, told before the pusher is: push id → what it is. */
  wants(playbackId: string, pushes: ReadonlyMap<string, WantedPush>): void;
  report(fact: PushFact): void;
  /** Resolves when every push has ended, or was given the time to, and what is known of them is stored or given up. */
  ended(): Promise<void>;
}

export type WantedPush = Pushed & {
  /** Number of the publish that is on the air. */
  readonly publish: number;
};

interface Running {
  of: WantedPush;
  holder: Holder;
  isConnected: boolean;
  trouble: PushTrouble | undefined;
}

function keyOf(playbackId: string, id: string): string {
  return `${playbackId} ${id}`;
}
