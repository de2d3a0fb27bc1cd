import { milliseconds } from '../../core/base/config-fields.ts';
import { isRefusal } from '../../core/base/fault.ts';
import { services } from '../../core/plugin/services.ts';
import { token } from '../../core/plugin/token.ts';
import type { WebhooksKit } from './kit.ts';
import { lane } from './lane.ts';
import { webhookLimits } from './limits.ts';

/**
 * Who may be called now: places for each webhook and account, and a breaker that leaves a webhook alone which failed
 * several times in a row. It is memory of this process and no more: what it makes wait is kept by lanes and deliveries,
 * and a new process finds out anew. So where there are several workers each has places and a breaker of its own: an
 * endpoint gets up to `perWebhook` requests from each, and each finds out for itself that it fails. Nobody polls: a lane that has to wait is woken when there is a place.
 */
export interface Endpoints {
  /** A place, which has to be left; undefined when there is none now. `lane`: the actor to be woken then. */
  enter(webhook: { id: string; account: string }, options: { lane?: string }): Leave | undefined;
  /** It answered well to an attempt that took no place, its address changed, or it was deleted. */
  reset(webhookId: string): void;
  /** Webhooks that are left alone, and lanes that wait. */
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
  /** Epoch ms until which it is left alone; the first attempt after it is a probe. */
  openUntil: number;
  wait: number;
  isProbed: boolean;
  /** Actors, in the order in which they came. */
  readonly held: Set<string>;
  /** Lanes that go on from one event to the next while others wait: how many attempts they have made. */
  readonly turns: Map<string, number>;
  isWaking: boolean;
  cancel: () => void;
  cancelWake: () => void;
}

/** The gate of this process, which hears of every webhook that another node has changed. */
export function sharedGate(kit: WebhooksKit): { gate: Endpoints; stop: () => void } {
  const gate = endpointGate(kit);
  const unlisten = kit
    .use(services.volatile)
    .listen(resetTopic, (id) => typeof id === 'string' && gate.reset(id));
  const reset = (webhookId: string) => {
    gate.reset(webhookId);
    if (kit.deployment.isAlone) return;
    // Whoever does not hear of it tries again by itself, after `longestBreak` at the latest.
    kit
      .use(services.volatile)
      .announce(resetTopic, webhookId)
      .catch((error: unknown) =>
        kit.log.warn('a changed webhook could not be announced', { webhookId, error }),
      );
  };
  return {
    gate: { ...gate, reset },
    stop() {
      unlisten();
      gate.stop();
    },
  };
}

/** Announces ids of webhooks whose breaker is to close. */
const resetTopic = 'webhooks/reset';

export function endpointGate(kit: Pick<WebhooksKit, 'actors' | 'clock' | 'config' | 'log'>): Endpoints {
  const { actors, clock, config, log } = kit;
  const firstWait = milliseconds(config.breakerWait);
  const longest = milliseconds(config.longestBreak);
  const known = new Map<string, Endpoint>();
  const accounts = new Map<string, { running: number; readonly members: Set<Endpoint> }>();
  let isStopped = false;

  const accountOf = (id: string) => {
    const account = accounts.get(id) ?? { running: 0, members: new Set() };
    accounts.set(id, account);
    return account;
  };
  const endpointOf = ({ id, account }: { id: string; account: string }): Endpoint => {
    const endpoint = known.get(id) ?? {
      ...{ id, account, running: 0, failures: 0, openUntil: 0, wait: firstWait, isProbed: false },
      ...{ held: new Set<string>(), turns: new Map<string, number>(), isWaking: false },
      ...{ cancel: () => {}, cancelWake: () => {} },
    };
    known.set(id, endpoint);
    accountOf(account).members.add(endpoint);
    return endpoint;
  };
  const isBroken = ({ failures }: Endpoint) => failures >= config.breakerFailures;
  const hasPlace = (endpoint: Endpoint) => {
    if (isBroken(endpoint) && (endpoint.isProbed || endpoint.openUntil > clock.now())) return false;
    return endpoint.running < config.perWebhook && accountOf(endpoint.account).running < config.perAccount;
  };
  /** What is as it was at first need not be remembered. */
  const tidy = (endpoint: Endpoint) => {
    if (endpoint.running > 0 || endpoint.failures > 0 || endpoint.held.size > 0) return;
    endpoint.cancel();
    endpoint.cancelWake();
    known.delete(endpoint.id);
    const account = accountOf(endpoint.account);
    account.members.delete(endpoint);
    if (account.members.size === 0) accounts.delete(endpoint.account);
  };

  /** Wakes as many lanes as there are places; each asks for one itself, and may find that another was faster. */
  const wake = (endpoint: Endpoint) => {
    if (isStopped) return;
    const { running, held } = endpoint;
    const places = !hasPlace(endpoint) ? 0 : isBroken(endpoint) ? 1 : config.perWebhook - running;
    for (const actor of [...held].slice(0, places)) {
      held.delete(actor);
      actors.ask(lane, actor, { type: 'resume' }).catch((error: unknown) => {
        if (isRefusal(error)) return wake(endpoint);
        log.warn('a lane could not be woken; it looks again by itself', { error });
      });
    }
    tidy(endpoint);
  };
  /** The lane that has just left comes back at once when it has more: a step less than waking another. */
  const wakeSoon = (endpoint: Endpoint) => {
    if (endpoint.held.size === 0) endpoint.turns.clear();
    if (endpoint.held.size === 0 || isBroken(endpoint)) return wake(endpoint);
    if (endpoint.isWaking || isStopped) return;
    endpoint.isWaking = true;
    endpoint.cancelWake = clock.at(clock.now() + webhookLimits.grace, () => {
      endpoint.isWaking = false;
      wake(endpoint);
    });
  };
  const hasHadTurn = ({ held, turns }: Endpoint, actor: string) => {
    if (held.size === 0) return false;
    const made = turns.get(actor) ?? 0;
    if (made < webhookLimits.turn) turns.set(actor, made + 1);
    else turns.delete(actor);
    return made >= webhookLimits.turn;
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

  return {
    enter(webhook, { lane: actor }) {
      const endpoint = endpointOf(webhook);
      if (isStopped || !hasPlace(endpoint)) {
        if (actor !== undefined) endpoint.held.add(actor);
        tidy(endpoint);
        return undefined;
      }
      if (actor !== undefined && hasHadTurn(endpoint, actor)) {
        // Behind those that wait; should there be places for all, it goes on as well.
        endpoint.held.add(actor);
        wake(endpoint);
        return undefined;
      }
      const isProbe = isBroken(endpoint);
      const account = accountOf(endpoint.account);
      endpoint.isProbed = isProbe;
      endpoint.running += 1;
      account.running += 1;
      let hasLeft = false;
      return (how) => {
        if (hasLeft) return;
        hasLeft = true;
        const isStrange = !isProbe && isBroken(endpoint);
        endpoint.running -= 1;
        account.running -= 1;
        if (isProbe) endpoint.isProbed = false;
        if (how === 'well') close(endpoint);
        // What began before the breaker opened and failed after it says nothing new.
        else if (how === 'failed' && !isStrange) fail(endpoint);
        const others = [...account.members].filter((one) => one !== endpoint && one.held.size > 0);
        wakeSoon(endpoint);
        for (const other of others) wakeSoon(other);
      };
    },
    reset(webhookId) {
      const endpoint = known.get(webhookId);
      if (!endpoint) return;
      close(endpoint);
      wake(endpoint);
    },
    counts() {
      let broken = 0;
      let held = 0;
      for (const endpoint of known.values()) {
        if (isBroken(endpoint)) broken += 1;
        held += endpoint.held.size;
      }
      return { broken, held };
    },
    stop() {
      isStopped = true;
      for (const endpoint of known.values()) {
        endpoint.cancel();
        endpoint.cancelWake();
      }
    },
  };
}

/** Until when a lane waits that nobody wakes, epoch ms. Thousands that began to wait together do not end it together. */
export function heldUntil(now: number): number {
  return now + Math.round(webhookLimits.hold * (1 + Math.random()));
}
