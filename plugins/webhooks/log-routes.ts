import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault, unlessRefused } from '../../core/base/fault.ts';
import { authenticate, authenticator } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { idempotent } from '../../core/http/idempotency.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json } from '../../core/http/operation.ts';
import { eventNames } from '../events/contract.ts';
import { deliveryBody } from './body.ts';
import { webhookCounts } from './counts.ts';
import { delivery, deliveryId } from './delivery.ts';
import { endpoints } from './endpoints.ts';
import { eventProblem } from './event-names.ts';
import type { WebhooksKit } from './kit.ts';
import { webhookLimits } from './limits.ts';
import { entryOf, type LogEntry, logKind, logRow, presentEntry, sentBody } from './log-entry.ts';
import { manualAttempts } from './manual.ts';
import { sampleBody } from './sample.ts';
import { logEntrySchema } from './schemas.ts';
import { type Message, send } from './send.ts';
import { webhooksOf } from './store.ts';
import type { Webhook } from './webhook.ts';

/** The delivery log of a webhook, and what is sent by hand. */
export function logRoutes(kit: WebhooksKit): AnyElysia {
  const { resources } = kit;
  const keys = kit.use(authenticator);
  const once = idempotent(kit);
  const manually = manualAttempts(kit);
  const testBody = bodyReader({
    event: Type.String({
      maxLength: webhookLimits.eventLength,
      enum: [...eventNames],
      examples: ['stream.started'],
    }),
  });
  const webhook = async (request: Request, id: string) =>
    webhooksOf(await authenticate(request, keys), kit).get(id);
  const fields = {
    id: { type: 'string' },
    event: { type: 'string' },
    deliveryId: { type: 'string' },
    success: { type: 'boolean' },
    createdAt: { type: 'number' },
    duration: { type: 'number' },
    attempt: { type: 'number' },
  } as const;
  const list = resourceList({
    kind: logKind,
    fields,
    caller: kit.caller,
    resources,
  });
  const answerWith = async (entry: LogEntry) => Response.json(await presentEntry(entry, { resources }));

  /** Sends it now; the new log entry, whatever came of it. */
  const sendNow = async (
    to: Webhook,
    { id, isRepeat, message }: { id: string; isRepeat: boolean; message: () => Promise<Message> },
  ): Promise<LogEntry> => {
    const made = isRepeat ? await resources.get(logKind, id) : undefined;
    if (made) return entryOf(made);
    return manually(to, async () => {
      const sent = await send(kit, {
        ...{ webhook: to, message: await message(), attempt: 0, signal: kit.signal },
        timeout: webhookLimits.manualTimeout,
      });
      kit.use(webhookCounts).attempted(sent.outcome);
      if (sent.end === 'well') kit.use(endpoints).reset(to.id);
      const entry: LogEntry = { ...sent.entry, id, nextAttemptAt: null };
      await resources.write({ rows: [{ ...logRow(entry, to), revision: 0 }], events: [] });
      return entry;
    });
  };

  return new Elysia()
    .get(
      '/api/webhook/:id/log',
      async ({ request, params }) => {
        const of = await webhook(request, params.id);
        const present = (row: Parameters<typeof entryOf>[0]) => presentEntry(entryOf(row), { resources });
        return list(request, { account: of.account, where: { webhook: of.id }, present });
      },
      says('Lists the attempts at deliveries, newest first; parameters as for streams.', {
        name: 'listWebhookLog',
        query: listParameters(fields),
        answers: { 200: listAnswer(logEntrySchema) },
        faults: ['webhook.not_found', 'query.invalid'],
      }),
    )
    .get(
      '/api/webhook/:id/log/:logId',
      async ({ request, params }) => {
        const of = await webhook(request, params.id);
        return answerWith(await entry(of, { id: params.logId, kit }));
      },
      says('One attempt: what was sent, and the first 1 KiB of the answer.', {
        name: 'getWebhookLogEntry',
        answers: { 200: json(logEntrySchema, 'The log entry.') },
        faults: ['webhook.not_found', 'webhook_log.not_found'],
      }),
    )
    .post(
      '/api/webhook/:id/log/:logId/resend',
      async ({ request, params }) => {
        const principal = await authenticate(request, keys);
        return once(request, {
          principal,
          async run(attempt) {
            const to = await webhooksOf(principal, kit).get(params.id);
            const of = await entry(to, { id: params.logId, kit });
            const message = async () => ({
              ...{ deliveryId: of.deliveryId, event: of.event },
              body: await bodyAgain(of, { to, kit }),
            });
            const sent = await sendNow(to, { ...attempt, message });
            // What was still being retried has arrived.
            const actor = deliveryId({ webhookId: to.id, eventId: of.deliveryId });
            if (sent.success) await kit.actors.ask(delivery, actor, { type: 'settle' }).catch(unlessRefused);
            return answerWith(sent);
          },
        });
      },
      says('Sends a delivery again, with its id, to the address of now. 200 with the new log entry.', {
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
      async ({ request, params }) => {
        const principal = await authenticate(request, keys);
        return once(request, {
          principal,
          async run(attempt) {
            const to = await webhooksOf(principal, kit).get(params.id);
            const { event } = await testBody.read(request);
            const problem = eventProblem([event]);
            if (problem) throw new Fault('body.invalid', { status: 422, message: `event: ${problem}` });
            const id = `test/${attempt.id}/${event}`;
            const body = sampleBody(to, { id, event, at: kit.clock.now() });
            const message = async () => ({ deliveryId: id, event, body });
            return answerWith(await sendNow(to, { ...attempt, message }));
          },
        });
      },
      says('Sends an example of an event now. 200 with the log entry, whatever the endpoint answered.', {
        name: 'testWebhook',
        body: testBody,
        answers: { 200: json(logEntrySchema, 'The new log entry.') },
        faults: ['webhook.not_found', 'webhook.too_many_attempts'],
      }),
    );
}

async function entry(webhook: Webhook, { id, kit }: { id: string; kit: WebhooksKit }): Promise<LogEntry> {
  const row = await kit.resources.get(logKind, id);
  const found = row?.account === webhook.account ? entryOf(row) : undefined;
  if (found?.webhookId === webhook.id) return found;
  const message = `There is no log entry ${id} of the webhook ${webhook.id}.`;
  throw new Fault('webhook_log.not_found', { status: 404, message });
}

/** What was sent, from the event log or from the delivery log. Faults: 409 `webhook.body_gone`. */
async function bodyAgain(of: LogEntry, { to, kit }: { to: Webhook; kit: WebhooksKit }): Promise<string> {
  const { body, isCut } = await sentBody(of, kit);
  if (body !== null && !isCut) return body;
  const { account } = to;
  const position = await kit.events.position(of.deliveryId, { account });
  if (position !== undefined) {
    const [event] = await kit.events.after(position - 1, { account, limit: 1 });
    if (event) return deliveryBody(event.body, to.id);
  }
  const message = 'What was sent is not kept any more, or not whole; it cannot be sent again.';
  throw new Fault('webhook.body_gone', { status: 409, message });
}
