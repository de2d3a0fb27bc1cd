import { hmac, plainHeaders, standardHeaders } from '../../core/base/standard-webhook.ts';
import { token } from '../../core/plugin/token.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import type { WebhooksKit } from './config.ts';
import {
  type SignedDelivery,
  type WebhookEvent,
  type WebhookFormat,
  type WebhookInfo,
  webhookFormats,
} from './contract.ts';
import type { Secret, Webhook } from './webhook.ts';

/** Formats by name, once a webhook has one: plugins that offer them may start later than this one. */
export interface Formats {
  find(name: string): WebhookFormat | undefined;
}

export const formats = token<Formats>('webhooks.format-names');

export function knownFormats(kit: Pick<WebhooksKit, 'offered'>): Formats {
  let known: ReadonlyMap<string, WebhookFormat> | undefined;
  return {
    find(name) {
      known ??= new Map(kit.offered(webhookFormats).map((format) => [format.name, format]));
      return known.get(name);
    },
  };
}

/** That of docs/api.md: Standard Webhooks 1.0.0, with one `v1` signature for each valid secret. */
const standard: WebhookFormat = {
  name: '',
  body({ id, ...rest }, { id: webhookId }) {
    return JSON.stringify({ id, webhookId, ...rest });
  },
  headers: (delivery) =>
    standardHeaders({ ...delivery, sign: (text) => delivery.sign(text, { encoding: 'base64' }) }),
};

/** Undefined: the plugin with the format is off. */
function formatOf({ format }: Webhook, kit: WebhooksKit): WebhookFormat | undefined {
  return format === undefined ? standard : kit.use(formats).find(format);
}

/**
 * What is sent of an event. Undefined: the format says nothing about it. Null: it cannot be written now, because the plugin of the
 * format is off or has failed.
 */
export function deliveryBody(
  event: Pick<LoggedEvent, 'body'>,
  { webhook, kit }: { webhook: Webhook; kit: WebhooksKit },
): string | null | undefined {
  const format = formatOf(webhook, kit);
  if (!format) return null;
  try {
    const body: unknown = format.body(JSON.parse(event.body) as WebhookEvent, infoOf(webhook));
    if (body === undefined || typeof body === 'string') return body;
    throw new TypeError('expected its body as a text or undefined');
  } catch (error) {
    failed(webhook, { kit, error });
    return null;
  }
}

/** Headers of one attempt. Undefined: they cannot be made, or are none that a request can have. */
export function deliveryHeaders(
  delivery: Omit<SignedDelivery, 'sign'>,
  { webhook, secrets, kit }: { webhook: Webhook; secrets: readonly Secret[]; kit: WebhooksKit },
): Readonly<Record<string, string>> | undefined {
  const sign: SignedDelivery['sign'] = (text, options) =>
    secrets.map(({ value }) => hmac(text, { ...options, secret: value }));
  try {
    const own: unknown = formatOf(webhook, kit)?.headers?.({ ...delivery, sign }) ?? {};
    // Entries of a promise are none: the delivery would go out without its signature.
    if (typeof own !== 'object' || own instanceof Promise) throw new TypeError('expected its headers');
    const headers = { ...plainHeaders, ...inLowerCase(own as Readonly<Record<string, string>>) };
    if (webhook.format === undefined) return headers;
    const problem = kit.outbound.problem(webhook.url, { method: 'POST', headers });
    // Any other is of the address, which is no fault of the format.
    if (problem?.reason === 'bad-request') throw new Error(problem.message);
    return headers;
  } catch (error) {
    failed(webhook, { kit, error });
    return undefined;
  }
}

export function infoOf(webhook: Webhook): WebhookInfo {
  const { id, account, name, url, events, streamId, format, createdAt } = webhook;
  return { id, account, name, url, events, streamId, format, createdAt };
}

/** Why a delivery could not be written, for its log entry. What was thrown may hold anything, so only the log has it. */
export function formatProblem({ format = '' }: Webhook, kit: WebhooksKit): string {
  return kit.use(formats).find(format)
    ? `The webhook format "${format}" failed. The log of the server has the details.`
    : `The plugin with the webhook format "${format}" is off.`;
}

function failed({ id, format }: Webhook, { kit, error }: { kit: WebhooksKit; error: unknown }): void {
  kit.log.warn('a webhook format failed', { webhookId: id, format, error });
}

function inLowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
}
