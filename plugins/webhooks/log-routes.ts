import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault, unlessRefused } from '../../core/base/fault.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import type { Attempt } from '../../core/http/idempotency.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json } from '../../core/http/operation.ts';
import { maxEventName } from '../../core/plugin/events.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { emittedEvents } from '../events/contract.ts';
import type { WebhooksKit } from './config.ts';
import { webhookCounts } from './counts.ts';
import { delivery, deliveryId } from './delivery.ts';
import { endpoints } from './endpoints.ts';
import { deliveryBody } from './formats.ts';
import {
  entryOf,
  type LogEntry,
  logEntrySchema,
  logKind,
  logRow,
  presentEntry,
  sentBody,
} from './log-entry.ts';
import { registry } from './registry.ts';
import { sampleBody } from './sample.ts';
import { type Message, send } from './send.ts';
import { type Webhook, webhooksOf } from './webhook.ts';

/** The delivery log of a webhook, `test` and `resend`. */
export function logRoutes(kit: WebhooksKit): AnyElysia {
  const { resources } = kit;
  const { keyed, once } = keyedRoutes(kit);
  const sendNow = manualAttempts(kit);
  const names = emittedEvents(kit.events.declared);
  const testBody = bodyReader({
    event: Type.String({ maxLength: maxEventName, enum: names, examples: names.slice(0, 1) }),
  });
  const fields = {
    id: { type: 'string' },
    event: { type: 'string' },
    deliveryId: { type: 'string' },
    success: { type: 'boolean' },
    createdAt: { type: 'number' },
    duration: { type: 'number' },
    attempt: { type: 'number' },
  } as const;
  const list = resourceList({ kind: logKind, fields, caller: kit.caller, resources });
  const answerWith = async (entry: LogEntry) => Response.json(await presentEntry(entry, resources));

  return new Elysia()
    .get(
      '/api/webhook/:id/log',
      keyed(async (call) => {
        const { account, id } = await webhookFor(call, kit);
        const present = (row: StoredResource) => presentEntry(entryOf(row), resources);
        return list(call.request, { account, where: { webhook: id }, present });
      }),
      says('Lists delivery attempts, newest first; parameters as for streams.', {
        name: 'listWebhookLog',
        query: listParameters(fields),
        answers: { 200: listAnswer(logEntrySchema) },
        faults: ['webhook.not_found', 'query.invalid'],
      }),
    )
    .get(
      '/api/webhook/:id/log/:logId',
      keyed(async (call) =>
        answerWith(await entryFor(await webhookFor(call, kit), { id: call.params.logId, kit })),
      ),
      says('One attempt: the request, and the first 1 KiB of the answer.', {
        name: 'getWebhookLogEntry',
        answers: { 200: json(logEntrySchema, 'The log entry.') },
        faults: ['webhook.not_found', 'webhook_log.not_found'],
      }),
    )
    .post(
      '/api/webhook/:id/log/:logId/resend',
      once(async (call) => answerWith(await resend(call, { kit, sendNow }))),
      says('Sends a delivery again, with the same id, to the current address. 200 with the new log entry.', {
        name: 'resendWebhookDelivery',
        answers: { 200: json(logEntrySchema, 'The new log entry.') },
        faults: [
          ...['webhook.not_found', 'webhook_log.not_found', 'webhook.body_gone'],
          'webhook.too_many_attempts',
        ],
      }),
    )
    .post(
      '/api/webhook/:id/test',
      once(async (call) => {
        const to = await webhookFor(call, kit);
        const { event } = await testBody.read(call.request);
        const problem = kit.use(registry).bodies.eventProblem([event]);
        if (problem) throw new Fault('body.invalid', { status: 422, message: `event: ${problem}` });
        const id = `test/${call.id}/${event}`;
        const body = sampleBody(to, { id, event, kit });
        if (body === undefined) throw unsaid(to, event);
        const message = { deliveryId: id, event, streamId: to.streamId, body };
        return answerWith(await sendNow(to, { ...call, message: async () => message }));
      }),
      says('Sends an example of an event now. 200 with the log entry, whatever the endpoint answered.', {
        name: 'testWebhook',
        body: testBody,
        answers: { 200: json(logEntrySchema, 'The new log entry.') },
        faults: ['webhook.not_found', 'webhook.too_many_attempts'],
      }),
    );
}

async function resend(
  call: Call & Attempt,
  { kit, sendNow }: { kit: WebhooksKit; sendNow: ReturnType<typeof manualAttempts> },
): Promise<LogEntry> {
  const to = await webhookFor(call, kit);
  const of = await entryFor(to, { id: call.params.logId, kit });
  const { deliveryId: eventId, event } = of;
  const message = async () => {
    const body = await bodyAgain(of, { webhook: to, kit });
    return { deliveryId: eventId, event, streamId: streamOf(of, { body, webhook: to }), body };
  };
  const sent = await sendNow(to, { ...call, message });
  // Ends the retries of this delivery.
  const actor = deliveryId({ webhookId: to.id, eventId });
  if (sent.success) await kit.actors.ask(delivery, actor, { type: 'settle' }).catch(unlessRefused);
  return sent;
}

function webhookFor({ principal, params }: Call, kit: WebhooksKit): Promise<Webhook> {
  return webhooksOf(principal, kit).get(params.id);
}

async function entryFor(webhook: Webhook, { id, kit }: { id: string; kit: WebhooksKit }): Promise<LogEntry> {
  const row = await kit.resources.get(logKind, id);
  const found = row?.account === webhook.account ? entryOf(row) : undefined;
  if (found?.webhookId === webhook.id) return found;
  const message = `There is no log entry ${id} of the webhook ${webhook.id}.`;
  throw new Fault('webhook_log.not_found', { status: 404, message });
}

/** The caller waits for this attempt. ms */
const manualTimeout = 20_000;

/**
 * Attempts of `test` and `resend`. Each process allows so many a minute for an account, and one at a time for a webhook:
 * nobody can flood others with them. Faults: `webhook.too_many_attempts` (429).
 */
function manualAttempts(kit: WebhooksKit): ManualAttempts {
  const { clock, config, resources } = kit;
  const running = new Set<string>();
  let minute = 0;
  let counts = new Map<string, number>();

  const admit = ({ id, account }: Webhook) => {
    const now = clock.now();
    if (Math.floor(now / 60_000) !== minute) {
      minute = Math.floor(now / 60_000);
      counts = new Map();
    }
    const count = counts.get(account) ?? 0;
    if (count >= config.manualPerMinute) {
      const message = `This account has sent ${count} test and resend requests in this minute, the most allowed. Try again in the next minute.`;
      throw refusal(message, 60 - (Math.floor(now / 1000) % 60));
    }
    if (running.has(id)) throw refusal('Another test or resend of this webhook is still running.', 1);
    counts.set(account, count + 1);
    running.add(id);
  };

  return async (webhook, { id, isRepeat, message }) => {
    const made = isRepeat ? await resources.get(logKind, id) : undefined;
    if (made) return entryOf(made);
    admit(webhook);
    try {
      const options = { webhook, message: await message(), attempt: 0 };
      const sent = await send(kit, { ...options, signal: kit.signal, timeout: manualTimeout });
      if (sent.outcome) kit.use(webhookCounts).attempted(sent.outcome);
      if (sent.end === 'well') kit.use(endpoints).reset(webhook.id);
      const entry: LogEntry = { ...sent.entry, id, nextAttemptAt: null };
      await resources.write({ rows: [{ ...logRow(entry, webhook), revision: 0 }], events: [] });
      return entry;
    } finally {
      running.delete(webhook.id);
    }
  };
}

/** Sends now. Returns the new log entry, whatever the endpoint answered. */
type ManualAttempts = (
  webhook: Webhook,
  options: { id: string; isRepeat: boolean; message: () => Promise<Message> },
) => Promise<LogEntry>;

function refusal(message: string, retryAfter: number): Fault {
  return new Fault('webhook.too_many_attempts', { status: 429, message, retryAfter });
}

function unsaid({ format }: Webhook, event: string): Fault {
  const message = `event: the format ${format} of this webhook says nothing about ${event}`;
  return new Fault('body.invalid', { status: 422, message });
}

/** The body of an earlier attempt, from the delivery log or the event log. Faults: 409 `webhook.body_gone`. */
async function bodyAgain(
  of: LogEntry,
  { webhook, kit }: { webhook: Webhook; kit: WebhooksKit },
): Promise<string | null> {
  const { account } = webhook;
  const { body, isCut } = await sentBody(of, kit.resources);
  if (body !== null && !isCut) return body;
  const position = await kit.events.position(of.deliveryId, { account });
  if (position !== undefined) {
    const [event] = await kit.events.after(position - 1, { account, limit: 1 });
    const again = event && deliveryBody(event, { webhook, kit });
    if (again !== undefined) return again;
  }
  const message = 'The body of this delivery is no longer kept in full, so it cannot be sent again.';
  throw new Fault('webhook.body_gone', { status: 409, message });
}

/** The stream that a delivery was about. Entries of older versions do not say it; their bodies, of the standard format, do. */
function streamOf(
  { streamId }: LogEntry,
  { body, webhook }: { body: string | null; webhook: Webhook },
): string | null {
  if (streamId !== undefined) return streamId;
  if (body === null || webhook.format !== undefined) return null;
  return (JSON.parse(body) as { readonly stream?: { readonly id: string } }).stream?.id ?? null;
}
