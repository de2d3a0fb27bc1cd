import { milliseconds } from '../../core/base/config-fields.ts';
import { isRefusal } from '../../core/base/fault.ts';
import { services } from '../../core/plugin/services.ts';
import { token } from '../../core/plugin/token.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { WebhooksKit } from './config.ts';
import { hostOf } from './hosts.ts';
import { lane } from './lane.ts';
import type { Webhook } from './webhook.ts';

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
  enter(webhook: Called, options: { lane?: string }): Leave | undefined;
  /** It answered well to an attempt without a slot, its address changed, or it was deleted. Other nodes are told. */
  reset(webhookId: string): void;
  /** Webhooks that are not called because of their breaker, and lanes that wait. */
  counts(): { broken: number; held: number };
  stop(): void;
}

type Called = Pick<Webhook, 'id' | 'account' | 'url'>;

/** `neither`: the attempt says nothing about the endpoint. Only the first call counts. */
type Leave = (how: 'well' | 'failed' | 'neither') => void;

export const endpoints = token<Endpoints>('webhooks.endpoints');

interface Endpoint {
  readonly id: string;
  readonly account: string;
  /** Of its URL when it was last called. */
  host: string;
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

export class WebhookEndpoints implements Endpoints {
  readonly #kit: WebhooksKit;
  readonly #clock: Clock;
  readonly #firstWait: number;
  readonly #longest: number;
  readonly #known = new Map<string, Endpoint>();
  readonly #unlisten: () => void;
  #isStopped = false;

  constructor(kit: WebhooksKit) {
    this.#kit = kit;
    this.#clock = kit.clock;
    this.#firstWait = milliseconds(kit.config.breakerWait);
    this.#longest = milliseconds(kit.config.longestBreak);
    this.#unlisten = kit.use(services.volatile).listen(resetTopic, (id) => this.#resetHere(id));
  }

  enter(webhook: Called, { lane: actor }: { lane?: string }): Leave | undefined {
    const endpoint = this.#endpointOf(webhook);
    if (endpoint.running === 0) endpoint.host = hostOf(webhook);
    if (this.#isStopped || !this.#hasSlot(endpoint)) {
      if (actor !== undefined) endpoint.held.add(actor);
      this.#tidy(endpoint);
      return undefined;
    }
    if (actor !== undefined && this.#hasHadTurn(endpoint, actor)) {
      // Behind those that wait. If there are slots for all, it is woken too.
      endpoint.held.add(actor);
      this.#wake(endpoint);
      return undefined;
    }
    const isProbe = this.#isBroken(endpoint);
    endpoint.isProbed = isProbe;
    endpoint.running += 1;
    let hasLeft = false;
    return (how) => {
      if (hasLeft) return;
      hasLeft = true;
      this.#leave(endpoint, { how, isProbe });
    };
  }

  reset(webhookId: string): void {
    this.#resetHere(webhookId);
    const { deployment, log } = this.#kit;
    if (deployment.isAlone) return;
    // A node that misses this tries again by itself, after `longestBreak` at the latest.
    this.#kit
      .use(services.volatile)
      .announce(resetTopic, webhookId)
      .catch((error: unknown) => log.warn('a changed webhook could not be announced', { webhookId, error }));
  }

  counts(): { broken: number; held: number } {
    const all = [...this.#known.values()];
    return {
      broken: all.filter((one) => this.#isBroken(one)).length,
      held: all.reduce((sum, { held }) => sum + held.size, 0),
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#unlisten();
    for (const endpoint of this.#known.values()) {
      endpoint.cancel();
      endpoint.cancelWake?.();
    }
  }

  #leave(endpoint: Endpoint, { how, isProbe }: { how: Parameters<Leave>[0]; isProbe: boolean }): void {
    endpoint.running -= 1;
    const isLate = !isProbe && this.#isBroken(endpoint);
    if (isProbe) endpoint.isProbed = false;
    if (how === 'well') this.#close(endpoint);
    // A failure of an attempt that began before the breaker opened says nothing new.
    else if (how === 'failed' && !isLate) this.#fail(endpoint);
    const others = [...this.#known.values()].filter(
      (one) =>
        (one.account === endpoint.account || one.host === endpoint.host) &&
        one !== endpoint &&
        one.held.size > 0,
    );
    for (const one of [endpoint, ...others]) this.#wakeAfterGrace(one);
  }

  /** Attempts that run, of those that are called, fail, or have lanes that wait: others are forgotten. */
  #running(of: (one: Endpoint) => boolean): number {
    return this.#known.values().reduce((sum, one) => (of(one) ? sum + one.running : sum), 0);
  }

  #endpointOf(webhook: Called): Endpoint {
    const { id, account } = webhook;
    const endpoint = this.#known.get(id) ?? {
      ...{
        id,
        account,
        host: hostOf(webhook),
        running: 0,
        failures: 0,
        openUntil: 0,
        wait: this.#firstWait,
        isProbed: false,
      },
      ...{ held: new Set<string>(), turns: new Map<string, number>() },
      ...{ cancel: () => {}, cancelWake: undefined },
    };
    this.#known.set(id, endpoint);
    return endpoint;
  }

  #isBroken({ failures }: Endpoint): boolean {
    return failures >= this.#kit.config.breakerFailures;
  }

  #hasSlot(endpoint: Endpoint): boolean {
    if (this.#isBroken(endpoint) && (endpoint.isProbed || endpoint.openUntil > this.#clock.now()))
      return false;
    const { perWebhook, perAccount, perHost } = this.#kit.config;
    if (endpoint.running >= perWebhook) return false;
    const { account, host } = endpoint;
    if (this.#running((one) => one.account === account) >= perAccount) return false;
    return this.#running((one) => one.host === host) < perHost;
  }

  /** Forgets an endpoint that is as it was at first. */
  #tidy(endpoint: Endpoint): void {
    if (endpoint.running > 0 || endpoint.failures > 0 || endpoint.held.size > 0) return;
    endpoint.cancel();
    endpoint.cancelWake?.();
    this.#known.delete(endpoint.id);
  }

  /** Wakes as many lanes as there are slots. Each asks for one itself, and another may be faster. */
  #wake(endpoint: Endpoint): void {
    if (this.#isStopped) return;
    const { running, held } = endpoint;
    const { actors, config, log } = this.#kit;
    const slots = !this.#hasSlot(endpoint) ? 0 : this.#isBroken(endpoint) ? 1 : config.perWebhook - running;
    for (const actor of [...held].slice(0, slots)) {
      held.delete(actor);
      actors.ask(lane, actor, { type: 'resume' }).catch((error: unknown) => {
        if (isRefusal(error)) return this.#wake(endpoint);
        log.warn('a webhook lane could not be woken; it looks again by itself', { error });
      });
    }
    this.#tidy(endpoint);
  }

  #wakeAfterGrace(endpoint: Endpoint): void {
    if (endpoint.held.size === 0) endpoint.turns.clear();
    if (endpoint.held.size === 0 || this.#isBroken(endpoint)) {
      this.#wake(endpoint);
      return;
    }
    if (this.#isStopped) return;
    endpoint.cancelWake ??= this.#clock.at(this.#clock.now() + grace, () => {
      endpoint.cancelWake = undefined;
      this.#wake(endpoint);
    });
  }

  #hasHadTurn({ held, turns }: Endpoint, actor: string): boolean {
    if (held.size === 0) return false;
    const made = turns.get(actor) ?? 0;
    if (made < turn) turns.set(actor, made + 1);
    else turns.delete(actor);
    return made >= turn;
  }

  #close(endpoint: Endpoint): void {
    endpoint.cancel();
    Object.assign(endpoint, { failures: 0, wait: this.#firstWait, isProbed: false, openUntil: 0 });
  }

  #fail(endpoint: Endpoint): void {
    endpoint.failures += 1;
    if (!this.#isBroken(endpoint)) return;
    endpoint.openUntil = this.#clock.now() + endpoint.wait;
    endpoint.wait = Math.min(this.#longest, endpoint.wait * 2);
    endpoint.cancel();
    if (!this.#isStopped) endpoint.cancel = this.#clock.at(endpoint.openUntil, () => this.#wake(endpoint));
  }

  #resetHere(webhookId: unknown): void {
    const endpoint = this.#known.get(webhookId as string);
    if (!endpoint) return;
    this.#close(endpoint);
    this.#wake(endpoint);
  }
}

/** Until when a lane waits that no node wakes, epoch ms. Random, so that thousands do not look again at the same time. */
export function heldUntil(now: number): number {
  return now + Math.round(hold * (1 + Math.random()));
}
