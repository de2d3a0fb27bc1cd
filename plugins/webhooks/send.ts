import { milliseconds } from '../../core/base/config-fields.ts';
import { plainHeaders, secretPrefix } from '../../core/base/standard-webhook.ts';
import type { DeliveryQuestion, Refusal } from '../../core/plugin/decide.ts';
import type { OutboundReason } from '../../core/ports/outbound.ts';
import type { WebhooksKit } from './config.ts';
import { deliveryHeaders, formatProblem } from './formats.ts';
import type { LogEntry } from './log-entry.ts';
import { openedSecrets, validSecrets } from './secrets.ts';
import type { Webhook } from './webhook.ts';

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

/** `format`: the plugin that writes the deliveries of the webhook is off or has failed. */
export type SentOutcome = '2xx' | '3xx' | '4xx' | '5xx' | 'timeout' | 'network' | 'tls' | 'refused' | 'ours';

export interface Message {
  readonly deliveryId: string;
  /** Name of the event. */
  readonly event: string;
  /** Null for an event of no stream. */
  readonly streamId: string | null;
  /** As the format of the webhook writes it; null when that is not possible now. */
  readonly body: string | null;
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
  const { deliveryId, event, body, streamId } = message;
  const createdAt = kit.clock.now();
  const timestamp = Math.floor(createdAt / 1000);
  const refusal = await kit.decide.delivery?.(questionOf(options));
  signal.throwIfAborted();
  if (refusal) return unsent(refusal, { ...options, createdAt, kit });
  const valid = validSecrets(webhook.secrets, createdAt);
  const secrets = openedSecrets({ ...webhook, secrets: valid }, kit);
  // Without a signature the receiver would take it for a forgery.
  if (secrets.length < valid.length) return unsent(unopened, { ...options, createdAt, kit });
  const headers =
    body === null ? undefined : deliveryHeaders({ body, deliveryId, timestamp }, { webhook, secrets, kit });
  if (body === null || headers === undefined) {
    // Later the plugin of the format may be on, or better.
    const trouble = { isFailure: true, reason: formatProblem(webhook, kit) };
    return unsent(trouble, { ...options, createdAt, kit });
  }
  const timeout = Math.min(milliseconds(kit.config.timeout), options.timeout ?? Infinity);
  const answer = await kit.outbound.request(webhook.url, {
    method: 'POST',
    headers,
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
    ...(streamId !== null && { streamId }),
    duration: Math.max(0, kit.clock.now() - createdAt),
    success: outcome === '2xx',
    request: { url: webhook.url, headers: shown(headers), ...logged(body) },
    ...(answer.ok
      ? { response: { status: answer.status, body: new TextDecoder().decode(answer.body) } }
      : { error: answer.message }),
  };
  if (outcome === '2xx') return { end: 'well', outcome, entry };
  if (outcome === 'ours') return { end: 'ours', outcome, entry };
  return { end: answer.ok && answer.status === 410 ? 'over' : 'failed', outcome, entry };
}

const unopened = {
  isFailure: true,
  reason: 'A secret of this webhook cannot be decrypted. Set its sharedSecret again.',
};

/** What plugins are asked. Of the URL the host alone: the rest may be a secret. */
function questionOf({ webhook, message, attempt }: Sending): DeliveryQuestion {
  const { id: webhookId, account, url } = webhook;
  const { event, streamId } = message;
  return { account, webhookId, host: new URL(url).host, event, streamId, attempt };
}

/** Nothing was sent. Where a plugin failed to decide or to write it, a later attempt may succeed. */
function unsent(
  { isFailure, reason: error }: Pick<Refusal, 'isFailure' | 'reason'>,
  { webhook, message, attempt, createdAt, kit }: Sending & { createdAt: number; kit: WebhooksKit },
): Sent {
  const { event, deliveryId, body, streamId } = message;
  return {
    end: isFailure ? 'failed' : 'refused',
    outcome: undefined,
    entry: {
      ...{ webhookId: webhook.id, event, deliveryId, createdAt, attempt, success: false, error },
      ...(streamId !== null && { streamId }),
      duration: Math.max(0, kit.clock.now() - createdAt),
      request: { url: webhook.url, headers: {}, ...(body === null ? { body } : logged(body)) },
    },
  };
}

/** Without what may be a signature: of a format of a plugin nobody else knows which headers are. */
function shown(headers: Readonly<Record<string, string>>): LogEntry['request']['headers'] {
  const names = [...Object.keys(plainHeaders), 'webhook-id', 'webhook-timestamp'];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name)));
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

/** What a `sharedSecret` must come to at least. */
export const leastSecretBytes = 8;
/** Matches a `sharedSecret`: eight bytes are at least two groups of base64 and one of three characters. */
export const secretPattern = (() => {
  const group = '[A-Za-z0-9+/]{4}';
  const two = '[A-Za-z0-9+/]{2}(?:==)?';
  const three = '[A-Za-z0-9+/]{3}=?';
  return `^(?:(?!${secretPrefix})[\\s\\S]{${leastSecretBytes},}|${secretPrefix}(?:(?:${group}){2}${three}|(?:${group}){3,}(?:${two}|${three})?))$`;
})();
