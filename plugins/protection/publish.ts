import type { Decision, PublishQuestion } from '../../core/plugin/decide.ts';
import { accounts } from '../accounts/contract.ts';
import type { ProtectionKit } from './config.ts';
import { type Ask, asker } from './webhook.ts';

const askers = new WeakMap<object, Ask>();

function askerOf(kit: ProtectionKit): Ask {
  const known = askers.get(kit.deployment) ?? asker(kit);
  askers.set(kit.deployment, known);
  return known;
}

/** Asks `plugins.protection.publishWebhook` before a broadcast is accepted: each connection of an encoder anew. */
export function decidePublish(question: PublishQuestion, kit: ProtectionKit): Decision | Promise<Decision> {
  const { publishWebhook: url, webhookSecret: secret, onError } = kit.config;
  return url === undefined ? undefined : ask(question, { url, secret, onError, kit });
}

async function ask(
  { streamId, address, app, encoder }: PublishQuestion,
  of: { url: string; secret: string | undefined; onError: 'refuse' | 'allow'; kit: ProtectionKit },
): Promise<Decision> {
  const { url, secret, onError, kit } = of;
  const answer = await askerOf(kit)({
    // It is the operator's server, whoever broadcasts.
    account: kit.use(accounts).adminId,
    ...{ key: streamId, url, onError, isFresh: true, secret: async () => secret },
    body: {
      ...{ kind: 'publish', streamId, ip: address, app },
      ...(encoder !== undefined && { encoder }),
    },
  });
  if (answer.isAllowed) return undefined;
  kit.log.info('the publish webhook did not allow a broadcast', { streamId, reason: answer.reason });
  return { refuse: answer.isBusy ? busy : refused };
}

/** Encoders show it. Why a server did not answer is for the log of the operator. */
const refused = 'The publish webhook of this server did not allow it.';
const busy = 'Too many broadcasts begin at once. Try again.';
