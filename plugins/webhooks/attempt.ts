import { milliseconds } from '../../core/base/config-fields.ts';
import { isRefusal } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { accountLimitsOf } from '../../core/http/account-limits.ts';
import { effect } from '../../core/plugin/plugin.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { type Attempt, type AttemptOutcome, retryAt } from '../../machines/webhook-delivery.ts';
import type { config, WebhooksKit } from './config.ts';
import { webhookCounts } from './counts.ts';
import { delivery, deliveryId, retries } from './delivery.ts';
import { endpoints, heldUntil } from './endpoints.ts';
import { deliveryBody } from './formats.ts';
import { hostRates } from './hosts.ts';
import type { LogEntry } from './log-entry.ts';
import { type Sent, send } from './send.ts';
import { type Webhook, wants, webhookKind, webhookOf } from './webhook.ts';

/** What an attempt may take beside its request, ms. */
const jobSlack = 10_000;
/** The event log keeps events that long, ms. */
const longestRetryFor = 24 * 3_600_000;

/**
 * One attempt at a delivery: the first one for a lane, all others for a delivery actor. A first attempt that fails starts
 * the delivery before it ends, so a crash at any point loses nothing; it may send once more.
 */
export const attemptEffect = effect<Attempt, AttemptOutcome, typeof config>({
  concurrency: ({ concurrency }) => concurrency,
  timeout: ({ timeout }) => milliseconds(timeout) + jobSlack,
  async run(job, kit) {
    const { input, signal } = job;
    const { webhookId, account, streamId, attempt } = input;
    const isFirst = attempt === 1;
    const counts = kit.use(webhookCounts);
    const row = await kit.resources.get(webhookKind, webhookId);
    if (!row || row.account !== account) return { outcome: 'gone' };
    const webhook = webhookOf(row);
    const event = await eventAt(input, kit);
    if (!event) {
      counts.ended('expired');
      return { outcome: 'over', entry: null };
    }
    if (!wants(webhook, { type: event.type, streamId })) return { outcome: 'over', entry: null };
    const id = deliveryId({ webhookId, eventId: event.id });
    // The process that ran this before has died after it started the delivery, which continues by itself.
    if (isFirst && job.attempt > 1 && (await kit.actors.read(delivery, id))) {
      return { outcome: 'over', entry: null };
    }
    if (kit.clock.now() > giveUpAt(event, kit)) {
      counts.ended('expired');
      return { outcome: 'over', entry: unsent(event, { webhook, input, kit }) };
    }
    const body = deliveryBody(event, { webhook, kit });
    // Its format has no words for this event.
    if (body === undefined) return { outcome: 'over', entry: null };

    // What is over its limit waits as for an endpoint that fails: nothing is sent, and nothing is lost.
    const { host } = new URL(webhook.url);
    if ((await accountLimitsOf(kit)?.attempt(account, host)) === false)
      return deferred(event, { input, kit });
    const mayFail = !isFirst || (await kit.use(retries).hasRoom(webhookId));
    const lane = isFirst ? { lane: job.actor.slice(job.actor.indexOf('/') + 1) } : {};
    const leave = mayFail ? kit.use(endpoints).enter(webhook, lane) : undefined;
    if (!leave) return deferred(event, { input, kit });
    const later = await kit.use(hostRates).take(webhook);
    if (later !== undefined) {
      leave('neither');
      return deferred(event, { input, kit, until: later });
    }
    try {
      const message = { deliveryId: event.id, event: event.type, streamId: streamId || null, body };
      const onStart = () => isFirst && job.attempt === 1 && counts.began(kit.clock.now() - event.at);
      const sent = await send(kit, { webhook, message, attempt, signal, onStart });
      signal.throwIfAborted();
      if (sent.outcome) counts.attempted(sent.outcome);
      // Too many requests of ours, or the program stops: this says nothing about the endpoint.
      if (sent.end === 'ours') throw new Error(sent.entry.error);
      if (sent.outcome) leave(sent.end === 'failed' ? 'failed' : 'well');
      return await outcomeOf(sent, { event, input, kit });
    } finally {
      leave('neither');
    }
  },
});

interface Work {
  readonly input: Attempt;
  readonly kit: WebhooksKit;
}

async function outcomeOf(
  sent: Sent,
  { event, input, kit }: Work & { event: LoggedEvent },
): Promise<AttemptOutcome> {
  const { account, webhookId, streamId, position, attempt, bodyOf } = input;
  const counts = kit.use(webhookCounts);
  const id = uuid();
  const entry: LogEntry = { ...sent.entry, id, nextAttemptAt: null, ...laterEntry(sent, bodyOf) };
  if (sent.end !== 'failed') {
    counts.ended(sent.end === 'well' ? 'delivered' : sent.end === 'refused' ? 'refused' : 'gone');
    return { outcome: sent.end === 'well' ? 'delivered' : 'over', entry };
  }
  const due = nextAttempt(event, { input, kit });
  if (due === null) counts.ended('expired');
  else if (attempt === 1) {
    const { id: eventId } = event;
    const settings = {
      ...{ account, webhookId, streamId, eventId, position },
      ...{ createdAt: kit.clock.now(), dueAt: due, firstEntry: id },
    };
    const actor = deliveryId({ webhookId, eventId });
    await kit.actors.spawn(delivery, actor, settings).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
    });
    kit.use(retries).added(webhookId);
  }
  return { outcome: 'failed', entry: { ...entry, nextAttemptAt: due }, retryAt: due };
}

/** The body is stored with the first attempt only. */
function laterEntry({ entry }: Sent, bodyOf: string | null): Partial<LogEntry> {
  if (bodyOf === null) return {};
  const { url, headers } = entry.request;
  return { request: { url, headers, body: null }, bodyOf };
}

/** @param work `until`: when there is room again, epoch ms; undefined while it is not known */
function deferred(event: LoggedEvent, { input, kit, until }: Work & { until?: number }): AttemptOutcome {
  const by = kit.deployment.node.incarnation;
  const held = until ?? heldUntil(kit.clock.now());
  if (input.attempt === 1) return { outcome: 'deferred', until: held, by, retryAt: null };
  const isInTime = until !== undefined && until <= giveUpAt(event, kit);
  const due = isInTime ? until : nextAttempt(event, { input, kit });
  if (due === null) kit.use(webhookCounts).ended('expired');
  return { outcome: 'deferred', until: held, by, retryAt: due };
}

function nextAttempt(event: LoggedEvent, { input, kit }: Work): number | null {
  const { firstRetry, longestRetry } = kit.config;
  // The first attempt is the lane's, not the delivery's.
  const wakes = input.attempt === 1 ? 0 : input.wakes + 1;
  return retryAt(
    { wakes, at: kit.clock.now(), chance: Math.random() },
    { first: milliseconds(firstRetry), most: milliseconds(longestRetry), until: giveUpAt(event, kit) },
  );
}

/** Until when an event is tried, epoch ms. */
function giveUpAt({ at }: LoggedEvent, kit: WebhooksKit): number {
  return at + Math.min(milliseconds(kit.config.retryFor), longestRetryFor);
}

/** Undefined when the log no longer has it. */
async function eventAt({ account, position }: Attempt, kit: WebhooksKit): Promise<LoggedEvent | undefined> {
  const [logged] = await kit.events.after(position - 1, { account, limit: 1 });
  return logged?.position === position ? logged : undefined;
}

/** The log entry of an event that was given up without an attempt. */
function unsent(event: LoggedEvent, { webhook, input, kit }: Work & { webhook: Webhook }): LogEntry {
  const { attempt, bodyOf, streamId } = input;
  return {
    ...{ id: uuid(), webhookId: webhook.id, event: event.type, deliveryId: event.id, attempt },
    ...{ createdAt: kit.clock.now(), duration: 0, success: false, nextAttemptAt: null },
    request: { url: webhook.url, headers: {}, body: null },
    ...(streamId !== '' && { streamId }),
    ...(bodyOf !== null && { bodyOf }),
    error: 'The event is too old: no further attempt is made.',
  };
}
