import { randomBytes } from 'node:crypto';
import { plainHeaders } from '../../core/base/standard-webhook.ts';
import { token } from '../../core/plugin/token.ts';
import type { WebhooksKit } from './config.ts';
import { hostOf } from './hosts.ts';
import type { Webhook } from './webhook.ts';

/** After a challenge failed, there is none at this host for this account so long, ms. */
const pause = 60_000;
const timeout = 10_000;
const mostAnswerBytes = 1024;
/** Failed challenges that are remembered. */
const mostFailed = 10_000;
const kind = 'webhook-host';

/**
 * Asks a host whether it wants webhooks of an account, before the first one (`plugins.webhooks.verify`): what is posted to it must come
 * back. So nobody has this server send to a host that is not theirs.
 */
export interface Challenges {
  /** Undefined: the host has agreed. Otherwise why nothing is sent, for the delivery log. */
  problem(webhook: Webhook, options: { signal: AbortSignal }): Promise<string | undefined>;
}

export const challenges = token<Challenges>('webhooks.challenges');

export function challengeHosts(kit: WebhooksKit): Challenges {
  const { clock, config, outbound, resources, signal } = kit;
  /** By account and host: until when, epoch ms. */
  const failed = new Map<string, number>();

  /** Deliveries of several streams begin at the same time: one challenge is for all. */
  const asking = new Map<string, Promise<boolean>>();

  const ask = async ({ url, account }: Webhook): Promise<boolean> => {
    const challenge = randomBytes(32).toString('base64url');
    const answer = await outbound.request(url, {
      ...{ method: 'POST', headers: plainHeaders, redirects: 0, owner: account, signal },
      body: JSON.stringify({ type: 'webhook.challenge', challenge }),
      ...{ timeout, idleTimeout: timeout, maxBytes: mostAnswerBytes },
    });
    if (!answer.ok || answer.status < 200 || answer.status > 299) return false;
    return echoed(new TextDecoder().decode(answer.body)) === challenge;
  };

  const agrees = (id: string, webhook: Webhook): Promise<boolean> => {
    const asked = asking.get(id) ?? ask(webhook).finally(() => asking.delete(id));
    asking.set(id, asked);
    return asked;
  };

  return {
    async problem(webhook, { signal: own }) {
      if (!config.verify) return undefined;
      const { account } = webhook;
      const host = hostOf(webhook);
      const id = `${account}:${host}`;
      if (await resources.get(kind, id)) return undefined;
      const isPaused = (failed.get(id) ?? 0) > clock.now();
      if (!isPaused && (await agrees(id, webhook))) {
        const row = { kind, id, account, createdAt: clock.now(), name: host, indexes: {}, revision: 0 };
        // A conflict: another attempt was first.
        await resources.write({ rows: [{ ...row, body: '{}' }], events: [] });
        return undefined;
      }
      own.throwIfAborted();
      if (failed.size >= mostFailed) failed.clear();
      if (!isPaused) failed.set(id, clock.now() + pause);
      return `${host} has not confirmed that it wants webhooks: it must answer a POST {"type": "webhook.challenge", "challenge": "…"} with 2xx and the challenge.`;
    },
  };
}

/** The challenge in an answer: as JSON `{"challenge": "…"}`, or as plain text. */
function echoed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object') return (value as { challenge?: unknown }).challenge;
    return value;
  } catch {
    return text.trim();
  }
}
