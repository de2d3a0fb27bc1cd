import type { Principal } from '../../core/http/auth.ts';
import { collection, kebabProblem, token } from '../../core/plugin/token.ts';

/** Webhooks, for plugins that create them in a form of their own. Those of other accounts are unknown. */
export interface Webhooks {
  /**
   * Checked as `POST /api/webhook` checks it. With an `id` that exists already it answers what is there: a repeat creates nothing.
   * Faults: `body.invalid` (422), `webhook.stream_unknown` (400), `webhook.too_many` (409).
   */
  create(owner: WebhookOwner, webhook: NewWebhook): Promise<WebhookInfo>;
  /** Fault `webhook.not_found` (404). */
  get(owner: WebhookOwner, id: string): Promise<WebhookInfo>;
  /** Newest first: all, or those of one format. */
  list(owner: WebhookOwner, options?: { readonly format?: string }): Promise<readonly WebhookInfo[]>;
  /** With its waiting deliveries and its log. Faults: `webhook.not_found` (404), `webhook.busy` (409). */
  remove(owner: WebhookOwner, id: string): Promise<void>;
}

export type WebhookOwner = Pick<Principal, 'accountId'>;

export interface NewWebhook {
  /** Default: a new one. */
  readonly id?: string;
  readonly name: string;
  readonly url: string;
  /** Names of our events, such as `stream.started`; the format writes them in its own words. */
  readonly events: readonly string[];
  readonly streamId?: string | null;
  readonly sharedSecret?: string | null;
  /** Name of a `webhookFormats` entry. Default: the format of docs/api.md. */
  readonly format?: string;
}

/** A webhook without its secrets. */
export interface WebhookInfo {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly streamId: string | null;
  /** Undefined: that of docs/api.md. */
  readonly format: string | undefined;
  /** Epoch ms. */
  readonly createdAt: number;
}

export const webhooks = token<Webhooks>('webhooks');

/** How deliveries are written and signed. Retries, the delivery log and `resend` are the same for all formats. */
export interface WebhookFormat {
  /** Stored with its webhooks, so it never changes. Letters, digits and dashes, such as `mux`. */
  readonly name: string;
  /**
   * The body of an event. Pure: a retry is written again and must look the same. Undefined: the format has nothing to say about
   * this event, and nothing is sent.
   */
  body(event: WebhookEvent, webhook: WebhookInfo): string | undefined;
  /**
   * Headers of an attempt, with the signature. Default: none but `content-type` (JSON) and `user-agent`, which these may
   * replace. They are in no log.
   */
  headers?(delivery: SignedDelivery): Readonly<Record<string, string>>;
}

/** An event as clients get it. */
export interface WebhookEvent {
  readonly id: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly timestamp: number;
  /** Its name, such as `stream.started`. */
  readonly event: string;
  readonly stream?: Readonly<Record<string, unknown>>;
  readonly payload?: unknown;
}

export interface SignedDelivery {
  readonly body: string;
  /** Id of the event: the same in all attempts. */
  readonly deliveryId: string;
  /** When this attempt is made, Unix seconds. */
  readonly timestamp: number;
  /**
   * HMAC of a text with each secret that is valid now, the current one first. Empty: the webhook has no secret. The secrets
   * themselves stay here.
   */
  sign(text: string, options?: SignOptions): readonly string[];
}

export interface SignOptions {
  /** Default `sha256`. */
  readonly algorithm?: 'sha1' | 'sha256' | 'sha512';
  /** Default `hex`. */
  readonly encoding?: 'hex' | 'base64' | 'base64url';
}

/** Formats of deliveries, beside that of docs/api.md. */
export const webhookFormats = collection<WebhookFormat>('webhooks.formats', {
  what: 'webhook format',
  name: ({ name }) => name,
  problem: ({ name }) => kebabProblem(name),
});
