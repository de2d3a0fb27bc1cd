import { createHmac } from 'node:crypto';
import { milliseconds } from '../../core/base/config-fields.ts';
import type { DeliveryQuestion, Refusal } from '../../core/plugin/decide.ts';
import type { OutboundReason } from '../../core/ports/outbound.ts';
import type { WebhooksKit } from './config.ts';
import type { LogEntry } from './log-entry.ts';
import type { Secret, Webhook } from './webhook.ts';

/** Of a body; the delivery log keeps no more. */
const loggedBody = 64 * 1024;
/** Of an answer that are read and logged. */
const loggedAnswer = 1024;

/** One request to the address of a webhook, and its outcome. */
export interface Sent {
  /**
   * `well`: 2xx. `over`: the endpoint wants no more of this (410). `ours`: it was not the endpoint's fault. `refused`: a plugin does not
   * allow it.
   */
  readonly end: 'well' | 'failed' | 'over' | 'ours' | 'refused';
  /** For metrics: class of the status, or what went wrong. Undefined: there was no request. */
  readonly outcome: SentOutcome | undefined;
  readonly entry: Omit<LogEntry, 'id' | 'nextAttemptAt'>;
}

export type SentOutcome = '2xx' | '3xx' | '4xx' | '5xx' | 'timeout' | 'network' | 'tls' | 'refused' | 'ours';

export interface Message {
  readonly deliveryId: string;
  /** Name of the event. */
  readonly event: string;
  /** Null for an event of no stream. */
  readonly streamId: string | null;
  readonly body: string;
}

/** Headers of every delivery, without the signature; also used to check a URL. */
export const plainHeaders = { 'content-type': 'application/json', 'user-agent': 'Millrace-Webhooks/1' };

/** The event as the event stream has it, with the id of the webhook. */
export function deliveryBody(eventBody: string, webhookId: string): string {
  const { id, ...rest } = JSON.parse(eventBody) as { id: string } & Record<string, unknown>;
  return JSON.stringify({ id, webhookId, ...rest });
}

interface Sending {
  readonly webhook: Webhook;
  readonly message: Message;
  readonly attempt: number;
}

/** Sends a message, unless a plugin refuses. */
export async function send(
  kit: WebhooksKit,
  options: Sending & {
    signal: AbortSignal;
    /** ms; at most what the config says. */
    timeout?: number;
    onStart?: () => void;
  },
): Promise<Sent> {
  const { webhook, message, attempt, signal, onStart } = options;
  const { deliveryId, event, body } = message;
  const createdAt = kit.clock.now();
  const timestamp = Math.floor(createdAt / 1000);
  const refusal = await kit.decide.delivery?.(questionOf(options));
  signal.throwIfAborted();
  if (refusal) return unsent(refusal, { ...options, createdAt, kit });
  const headers = { ...plainHeaders, 'webhook-id': deliveryId, 'webhook-timestamp': String(timestamp) };
  const secrets = validSecrets(webhook.secrets, createdAt);
  const signature = secrets.length > 0 && {
    'webhook-signature': signatureOf(secrets, { id: deliveryId, timestamp, body }),
  };
  const timeout = Math.min(milliseconds(kit.config.timeout), options.timeout ?? Infinity);
  const answer = await kit.outbound.request(webhook.url, {
    method: 'POST',
    headers: { ...headers, ...signature },
    body,
    redirects: 0,
    // The receiver knows a repeat by its id, so a kept connection may be used.
    repeatable: true,
    owner: webhook.account,
    timeout,
    idleTimeout: timeout,
    maxBytes: loggedAnswer,
    signal,
    ...(onStart && { onStart }),
  });
  const outcome = answer.ok ? classOf(answer.status) : outcomes[answer.reason];
  const entry: Sent['entry'] = {
    ...{ webhookId: webhook.id, event, deliveryId, createdAt, attempt },
    duration: Math.max(0, kit.clock.now() - createdAt),
    success: outcome === '2xx',
    request: { url: webhook.url, headers, ...logged(body) },
    ...(answer.ok
      ? { response: { status: answer.status, body: new TextDecoder().decode(answer.body) } }
      : { error: answer.message }),
  };
  if (outcome === '2xx') return { end: 'well', outcome, entry };
  if (outcome === 'ours') return { end: 'ours', outcome, entry };
  return { end: answer.ok && answer.status === 410 ? 'over' : 'failed', outcome, entry };
}

/** What plugins are asked. Of the URL the host alone: the rest may be a secret. */
function questionOf({ webhook, message, attempt }: Sending): DeliveryQuestion {
  const { id: webhookId, account, url } = webhook;
  const { event, streamId } = message;
  return { account, webhookId, host: new URL(url).host, event, streamId, attempt };
}

/** Nothing was sent. Where a plugin failed to decide, a later attempt may be allowed. */
function unsent(
  { isFailure, reason: error }: Refusal,
  { webhook, message, attempt, createdAt, kit }: Sending & { createdAt: number; kit: WebhooksKit },
): Sent {
  const { event, deliveryId, body } = message;
  return {
    end: isFailure ? 'failed' : 'refused',
    outcome: undefined,
    entry: {
      ...{ webhookId: webhook.id, event, deliveryId, createdAt, attempt, success: false, error },
      duration: Math.max(0, kit.clock.now() - createdAt),
      request: { url: webhook.url, headers: {}, ...logged(body) },
    },
  };
}

/** As much of a body as the log keeps. A character that is cut in two shows as U+FFFD. */
function logged(body: string): { body: string; isCut?: true } {
  const bytes = Buffer.from(body);
  if (bytes.length <= loggedBody) return { body };
  return { body: bytes.subarray(0, loggedBody).toString('utf8'), isCut: true };
}

function classOf(status: number): SentOutcome {
  if (status < 300) return '2xx';
  if (status < 400) return '3xx';
  return status < 500 ? '4xx' : '5xx';
}

const outcomes: Readonly<Record<OutboundReason, SentOutcome>> = {
  'bad-url': 'refused',
  refused: 'refused',
  redirects: '3xx',
  dns: 'network',
  connect: 'network',
  closed: 'network',
  protocol: 'network',
  'too-large': 'network',
  tls: 'tls',
  timeout: 'timeout',
  'bad-request': 'ours',
  busy: 'ours',
  source: 'ours',
  aborted: 'ours',
};

const prefix = 'whsec_';
/** What a `sharedSecret` must come to at least. */
export const leastSecretBytes = 8;
/** How long a replaced secret signs beside the new one. */
const rotation = 24 * 3_600_000;
/** That sign at once; of more, the oldest ends at once. */
const maxSecrets = 4;

/** Matches a `sharedSecret`: eight bytes are at least two groups of base64 and one of three characters. */
export const secretPattern = (() => {
  const group = '[A-Za-z0-9+/]{4}';
  const two = '[A-Za-z0-9+/]{2}(?:==)?';
  const three = '[A-Za-z0-9+/]{3}=?';
  return `^(?:(?!${prefix})[\\s\\S]{${leastSecretBytes},}|${prefix}(?:(?:${group}){2}${three}|(?:${group}){3,}(?:${two}|${three})?))$`;
})();

/**
 * Value of `webhook-signature` (Standard Webhooks 1.0.0): one `v1` signature for each valid secret, the current one first.
 * @param message `timestamp`: seconds
 */
function signatureOf(
  secrets: readonly Secret[],
  message: { id: string; timestamp: number; body: string },
): string {
  const { id, timestamp, body } = message;
  const signatures = secrets.map(({ value }) =>
    createHmac('sha256', bytesOf(value)).update(`${id}.${timestamp}.${body}`).digest('base64'),
  );
  return signatures.map((signature) => `v1,${signature}`).join(' ');
}

/** Those that sign at this time. */
export function validSecrets(secrets: readonly Secret[], now: number): readonly Secret[] {
  return secrets.filter(({ until }) => until === null || until > now);
}

/** The secrets after another was given; null ends them all at once. The current one again changes nothing. */
export function rotated(secrets: readonly Secret[], given: string | null, now: number): readonly Secret[] {
  if (given === null) return [];
  if (secrets[0]?.value === given) return secrets;
  const former = validSecrets(secrets, now)
    .filter(({ value }) => value !== given)
    .map(({ value, until }) => ({ value, until: until ?? now + rotation }));
  return [{ value: given, until: null }, ...former].slice(0, maxSecrets);
}

/** The bytes of a secret: base64 behind `whsec_`, else the text itself. */
function bytesOf(value: string): Buffer {
  return value.startsWith(prefix)
    ? Buffer.from(value.slice(prefix.length), 'base64')
    : Buffer.from(value, 'utf8');
}
