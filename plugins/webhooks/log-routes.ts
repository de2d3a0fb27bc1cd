import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault, unlessRefused } from '../../core/base/fault.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { type Call, keyedRoutes } from '../../core/http/keyed.ts';
import { listAnswer, listParameters, resourceList } from '../../core/http/list.ts';
import { json } from '../../core/http/operation.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import { eventNames } from '../events/contract.ts';
import type { WebhooksKit } from './config.ts';
import { delivery, deliveryId } from './delivery.ts';
import { entryOf, type LogEntry, logEntrySchema, logKind, presentEntry } from './log-entry.ts';
import { bodyAgain, manualAttempts, sampleBody } from './manual.ts';
import { eventProblem } from './request-body.ts';
import { type Webhook, webhooksOf } from './webhook.ts';

/** The delivery log of a webhook, `test` and `resend`. */
export function logRoutes(kit: WebhooksKit): AnyElysia {
  const { resources } = kit;
  const { keyed, once } = keyedRoutes(kit);
  const sendNow = manualAttempts(kit);
  const testBody = bodyReader({
    event: Type.String({ maxLength: 100, enum: [...eventNames], examples: ['stream.started'] }),
  });
  const webhook = ({ principal, params }: Call) => webhooksOf(principal, kit).get(params.id);
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
        const { account, id } = await webhook(call);
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
      keyed(async (call) => answerWith(await entryFor(await webhook(call), { id: call.params.logId, kit }))),
      says('One attempt: the request, and the first 1 KiB of the answer.', {
        name: 'getWebhookLogEntry',
        answers: { 200: json(logEntrySchema, 'The log entry.') },
        faults: ['webhook.not_found', 'webhook_log.not_found'],
      }),
    )
    .post(
      '/api/webhook/:id/log/:logId/resend',
      once(async (call) => {
        const to = await webhook(call);
        const of = await entryFor(to, { id: call.params.logId, kit });
        const { deliveryId: eventId, event } = of;
        const message = async () => ({ deliveryId: eventId, event, body: await bodyAgain(of, { to, kit }) });
        const sent = await sendNow(to, { ...call, message });
        // Ends the retries of this delivery.
        const actor = deliveryId({ webhookId: to.id, eventId });
        if (sent.success) await kit.actors.ask(delivery, actor, { type: 'settle' }).catch(unlessRefused);
        return answerWith(sent);
      }),
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
        const to = await webhook(call);
        const { event } = await testBody.read(call.request);
        const problem = eventProblem([event]);
        if (problem) throw new Fault('body.invalid', { status: 422, message: `event: ${problem}` });
        const id = `test/${call.id}/${event}`;
        const body = sampleBody(to, { id, event, at: kit.clock.now() });
        return answerWith(
          await sendNow(to, { ...call, message: async () => ({ deliveryId: id, event, body }) }),
        );
      }),
      says('Sends an example of an event now. 200 with the log entry, whatever the endpoint answered.', {
        name: 'testWebhook',
        body: testBody,
        answers: { 200: json(logEntrySchema, 'The new log entry.') },
        faults: ['webhook.not_found', 'webhook.too_many_attempts'],
      }),
    );
}

async function entryFor(webhook: Webhook, { id, kit }: { id: string; kit: WebhooksKit }): Promise<LogEntry> {
  const row = await kit.resources.get(logKind, id);
  const found = row?.account === webhook.account ? entryOf(row) : undefined;
  if (found?.webhookId === webhook.id) return found;
  const message = `There is no log entry ${id} of the webhook ${webhook.id}.`;
  throw new Fault('webhook_log.not_found', { status: 404, message });
}
