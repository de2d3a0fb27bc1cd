import { randomBytes } from 'node:crypto';
import { uuid } from '../core/base/ids.ts';
import { hmac, plainHeaders, secretPrefix, standardHeaders } from '../core/base/standard-webhook.ts';
import type { MillraceEvent } from '../sdk/client/index.ts';
import { type Command, complain, exits, Failure, print, text } from './command.ts';
import { connectionOf, serverOptions } from './connection.ts';
import { eventOptions, followed, wantedOf } from './events.ts';
import { untilInterrupted } from './interruption.ts';
import { moment } from './table.ts';

/** As long as a server waits, ms. */
const answerTime = 30_000;
const leastSecret = 8;

export const webhookListen: Command = {
  name: 'webhook listen',
  usage: '[--forward URL] [--secret S] [--type TYPE] [--stream ID|NAME]',
  summary:
    'receives the events of the account and sends them to a URL of this machine, signed as webhooks are',
  details:
    'For a receiver that you are writing: no webhook and no tunnel are needed. Requests are those of a webhook (docs/api.md#webhooks),\n' +
    'one after another. A request that fails is shown and not tried again. Without --forward, the requests are printed.',
  options: {
    forward: {
      type: 'string',
      value: 'URL',
      summary: 'where the requests go, such as http://localhost:3000/hook',
    },
    secret: {
      ...{ type: 'string', value: 'S' },
      summary: 'signs with it, as with `sharedSecret` of a webhook. Default: a new one, which is printed',
    },
    ...eventOptions,
    ...serverOptions,
  },
  async run(given) {
    const forward = text(given.options.forward);
    if (forward !== undefined && !(/^https?:\/\//i.test(forward) && URL.canParse(forward)))
      throw new Failure('--forward: expected a URL such as http://localhost:3000/hook.', exits.usage);
    const own = text(given.options.secret);
    if (own !== undefined && own.length < leastSecret)
      throw new Failure(`--secret: expected at least ${leastSecret} characters.`, exits.usage);
    const connection = await connectionOf(given);
    const { isJson } = connection;
    const wanted = await wantedOf(given, connection);
    const secret = own ?? secretPrefix + randomBytes(24).toString('base64');
    // On the standard error: the standard output may go to a log.
    if (own === undefined) complain(`Secret: ${secret}`);
    const webhookId = uuid();
    await untilInterrupted(async (signal) => {
      for await (const event of followed(connection, { ...wanted, signal })) {
        const request = requestOf(event, { webhookId, secret });
        const sent = forward === undefined ? undefined : await send(forward, { ...request, signal });
        if (isJson) print(JSON.stringify({ event: event.event, id: event.id, ...request, ...sent }));
        else if (sent)
          print(
            `${moment(event.createdAt)}  ${event.event}  ${sent.error ?? sent.status}  (${sent.duration} ms)`,
          );
        else print(shown(request));
      }
    });
    return exits.fine;
  },
};

interface HookRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a webhook sends of an event: plugins/webhooks/formats.ts. */
function requestOf(
  { id, ...rest }: MillraceEvent,
  { webhookId, secret }: { webhookId: string; secret: string },
): HookRequest {
  const body = JSON.stringify({ id, webhookId, ...rest });
  const timestamp = Math.floor(Date.now() / 1000);
  const sign = (signed: string) => [hmac(signed, { secret, encoding: 'base64' })];
  return {
    headers: { ...plainHeaders, ...standardHeaders({ deliveryId: id, timestamp, body, sign }) },
    body,
  };
}

interface Sent {
  readonly status?: number;
  /** There was no answer. */
  readonly error?: string;
  /** ms */
  readonly duration: number;
}

async function send(
  url: string,
  { headers, body, signal }: HookRequest & { signal: AbortSignal },
): Promise<Sent> {
  const began = performance.now();
  const duration = () => Math.round(performance.now() - began);
  try {
    const answer = await fetch(url, {
      ...{ method: 'POST', headers, body, redirect: 'manual' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerTime)]),
    });
    await answer.body?.cancel();
    return { status: answer.status, duration: duration() };
  } catch (error) {
    signal.throwIfAborted();
    return { error: (error as Error).message, duration: duration() };
  }
}

function shown({ headers, body }: HookRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [...lines, '', body, ''].join('\n');
}
