import { milliseconds } from '../../core/base/config-fields.ts';
import { isRefusal } from '../../core/base/fault.ts';
import { services } from '../../core/plugin/services.ts';
import { token } from '../../core/plugin/token.ts';
import type { WebhooksKit } from './config.ts';
import { lane } from './lane.ts';

/** How long a lane waits at least when no node wakes it, ms; up to twice as long, at random. */
const hold = 60_000;
/** Attempts of a lane in a row while others wait for the same webhook. */
const turn = 32;
/** How long a slot is kept for the lane that left it while others wait, ms: it comes back without a step to wake it. */
const grace = 20;
/** Announces ids of webhooks whose breaker is to close. */
const resetTopic = 'webhooks/reset';

/**
 * Which webhooks may be called now: slots for each webhook and account, and a breaker that stops calls to a webhook after
 * several failures in a row. It is memory of this process: what waits is stored by lanes and deliveries, and a new process
 * starts afresh. So each worker has its own slots and breakers: an endpoint gets up to `perWebhook` requests from each.
 * No lane polls: one that has to wait is woken when there is a slot.
 */
export interface Endpoints {
  /** A slot, to be left afterwards; undefined when there is none. `lane`: the actor to wake when there is one. */
  enter(webhook: { id: string; account: string }, options: { lane?: string }): Leave | undefined;
  /** It answered well to an attempt without a slot, its address changed, or it was deleted. Other nodes are told. */
  reset(webhookId: string): void;
  /** Webhooks that are not called because of their breaker, and lanes that wait. */
  counts(): { broken: number; held: number };
  stop(): void;
}

/** `neither`: the attempt says nothing about the endpoint. Only the first call counts. */
type Leave = (how: 'well' | 'failed' | 'neither') => void;

export const endpoints = token<Endpoints>('webhooks.endpoints');

interface Endpoint {
  readonly id: string;
  readonly account: string;
  running: number;
  failures: number;
  /** Epoch ms until which it is not called; the first attempt after it is a probe. */
  openUntil: number;
  wait: number;
  isProbed: boolean;
  /** Actors of waiting lanes, in the order in which they came. */
  readonly held: Set<string>;
  /** Attempts in a row of the lanes that go on while others wait. */
  readonly turns: Map<string, number>;
  cancel: () => void;
  /** While lanes are woken soon. */
  cancelWake: (() => void) | undefined;
}

export function webhookEndpoints(kit: WebhooksKit): Endpoints {
  const { actors, clock, config, log, deployment } = kit;
  const volatile = kit.use(services.volatile);
  const firstWait = milliseconds(config.breakerWait);
  const longest = milliseconds(config.longestBreak);
  const known = new Map<string, Endpoint>();
  let isStopped = false;

  /** Those of an account that are called, fail, or have lanes that wait: others are forgotten. */
  const knownOf = (account: string) => [...known.values()].filter((one) => one.account === account);
  const endpointOf = ({ id, account }: { id: string; account: string }): Endpoint => {
    const endpoint = known.get(id) ?? {
      ...{ id, account, running: 0, failures: 0, openUntil: 0, wait: firstWait, isProbed: false },
      ...{ held: new Set<string>(), turns: new Map<string, number>() },
      ...{ cancel: () => {}, cancelWake: undefined },
    };
    known.set(id, endpoint);
    return endpoint;
  };
  const isBroken = ({ failures }: Endpoint) => failures >= config.breakerFailures;
  const hasSlot = (endpoint: Endpoint) => {
    if (isBroken(endpoint) && (endpoint.isProbed || endpoint.openUntil > clock.now())) return false;
    const ofAccount = knownOf(endpoint.account).reduce((sum, { running }) => sum + running, 0);
    return endpoint.running < config.perWebhook && ofAccount < config.perAccount;
  };
  /** Forgets an endpoint that is as it was at first. */
  const tidy = (endpoint: Endpoint) => {
    if (endpoint.running > 0 || endpoint.failures > 0 || endpoint.held.size > 0) return;
    endpoint.cancel();
    endpoint.cancelWake?.();
    known.delete(endpoint.id);
  };

  /** Wakes as many lanes as there are slots. Each asks for one itself, and another may be faster. */
  const wake = (endpoint: Endpoint) => {
    if (isStopped) return;
    const { running, held } = endpoint;
    const slots = !hasSlot(endpoint) ? 0 : isBroken(endpoint) ? 1 : config.perWebhook - running;
    for (const actor of [...held].slice(0, slots)) {
      held.delete(actor);
      actors.ask(lane, actor, { type: 'resume' }).catch((error: unknown) => {
        if (isRefusal(error)) return wake(endpoint);
        log.warn('a webhook lane could not be woken; it looks again by itself', { error });
      });
    }
    tidy(endpoint);
  };
  const wakeAfterGrace = (endpoint: Endpoint) => {
    if (endpoint.held.size === 0) endpoint.turns.clear();
    if (endpoint.held.size === 0 || isBroken(endpoint)) return wake(endpoint);
    if (isStopped) return;
    endpoint.cancelWake ??= clock.at(clock.now() + grace, () => {
      endpoint.cancelWake = undefined;
      wake(endpoint);
    });
  };
  const hasHadTurn = ({ held, turns }: Endpoint, actor: string) => {
    if (held.size === 0) return false;
    const made = turns.get(actor) ?? 0;
    if (made < turn) turns.set(actor, made + 1);
    else turns.delete(actor);
    return made >= turn;
  };
  const close = (endpoint: Endpoint) => {
    endpoint.cancel();
    Object.assign(endpoint, { failures: 0, wait: firstWait, isProbed: false, openUntil: 0 });
  };
  const fail = (endpoint: Endpoint) => {
    endpoint.failures += 1;
    if (!isBroken(endpoint)) return;
    endpoint.openUntil = clock.now() + endpoint.wait;
    endpoint.wait = Math.min(longest, endpoint.wait * 2);
    endpoint.cancel();
    if (!isStopped) endpoint.cancel = clock.at(endpoint.openUntil, () => wake(endpoint));
  };
  const resetHere = (webhookId: unknown) => {
    const endpoint = known.get(webhookId as string);
    if (!endpoint) return;
    close(endpoint);
    wake(endpoint);
  };
  const unlisten = volatile.listen(resetTopic, resetHere);

  return {
    enter(webhook, { lane: actor }) {
      const endpoint = endpointOf(webhook);
      if (isStopped || !hasSlot(endpoint)) {
        if (actor !== undefined) endpoint.held.add(actor);
        tidy(endpoint);
        return undefined;
      }
      if (actor !== undefined && hasHadTurn(endpoint, actor)) {
        // Behind those that wait. If there are slots for all, it is woken too.
        endpoint.held.add(actor);
        wake(endpoint);
        return undefined;
      }
      const isProbe = isBroken(endpoint);
      endpoint.isProbed = isProbe;
      endpoint.running += 1;
      let hasLeft = false;
      return (how) => {
        if (hasLeft) return;
        hasLeft = true;
        endpoint.running -= 1;
        const isLate = !isProbe && isBroken(endpoint);
        if (isProbe) endpoint.isProbed = false;
        if (how === 'well') close(endpoint);
        // A failure of an attempt that began before the breaker opened says nothing new.
        else if (how === 'failed' && !isLate) fail(endpoint);
        const others = knownOf(endpoint.account).filter((one) => one !== endpoint && one.held.size > 0);
        for (const one of [endpoint, ...others]) wakeAfterGrace(one);
      };
    },
    reset(webhookId) {
      resetHere(webhookId);
      if (deployment.isAlone) return;
      // A node that misses this tries again by itself, after `longestBreak` at the latest.
      volatile
        .announce(resetTopic, webhookId)
        .catch((error: unknown) =>
          log.warn('a changed webhook could not be announced', { webhookId, error }),
        );
    },
    counts() {
      const all = [...known.values()];
      return {
        broken: all.filter(isBroken).length,
        held: all.reduce((sum, { held }) => sum + held.size, 0),
      };
    },
    stop() {
      isStopped = true;
      unlisten();
      for (const endpoint of known.values()) {
        endpoint.cancel();
        endpoint.cancelWake?.();
      }
    },
  };
}

/** Until when a lane waits that no node wakes, epoch ms. Random, so that thousands do not look again at the same time. */
export function heldUntil(now: number): number {
  return now + Math.round(hold * (1 + Math.random()));
}
