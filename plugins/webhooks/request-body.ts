import { type Static, Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, maxNameLength } from '../../core/base/name.ts';
import { nearMiss } from '../../core/base/near-miss.ts';
import type { Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { eventNames } from '../events/contract.ts';
import { stream } from '../streams/contract.ts';
import type { WebhooksKit } from './config.ts';
import { leastSecretBytes, plainHeaders, secretPattern } from './send.ts';

/** Browsers and servers take about as much. */
const maxUrlLength = 2000;
const maxSecretLength = 500;
/** More names than there are events: a client may repeat some. */
const maxEventNames = 100;

const fields = {
  name: Type.String({ minLength: 1, maxLength: maxNameLength }),
  url: Type.String({
    maxLength: maxUrlLength,
    // URL parsers drop line breaks and tabs; what is stored and shown must be what is called.
    pattern: '^[hH][tT][tT][pP][sS]?://[^\\x00-\\x1f\\x7f]*$',
    schemes: ['http', 'https'],
    examples: ['https://example.com/hooks'],
    expected: `an http:// or https:// URL of at most ${maxUrlLength} characters, without control characters`,
  }),
  // `enum` is for the document: `eventProblem` has the better message.
  events: Type.Array(Type.String({ enum: [...eventNames] }), {
    minItems: 1,
    maxItems: maxEventNames,
    examples: [['stream.started', 'stream.idle']],
  }),
  streamId: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: maxIdLength }), Type.Null()])),
  sharedSecret: Type.Optional(
    Type.Union([Type.String({ maxLength: maxSecretLength, pattern: secretPattern }), Type.Null()], {
      examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      expected: `whsec_ and base64 of at least ${leastSecretBytes} bytes, or other text of at least as many characters`,
    }),
  ),
};

export const webhookBodyReader = bodyReader(fields, {
  readOnly: ['id', 'kind', 'userId', 'createdAt', 'status'],
});

type WebhookBody = Static<ReturnType<typeof Type.Object<typeof fields>>>;

/** The body of a POST or PUT, checked as far as possible without the store. Faults: 422 `body.invalid`. */
export async function webhookBody(request: Request, kit: WebhooksKit): Promise<WebhookBody> {
  const read = (await webhookBodyReader.read(request)) as WebhookBody;
  const url = kit.outbound.problem(read.url, { method: 'POST', headers: plainHeaders });
  const events = eventProblem(read.events);
  const message = [...(url ? [`url: ${url.message}`] : []), ...(events ? [`events: ${events}`] : [])];
  if (message.length > 0) throw new Fault('body.invalid', { status: 422, message });
  return { ...read, events: [...new Set(read.events)] };
}

/** What is wrong with names of events, or undefined. Repeats at most five unknown names, shortened. */
export function eventProblem(names: readonly string[]): string | undefined {
  const unknown = [...new Set(names)].filter((name) => !eventNames.has(name));
  if (unknown.length === 0) return undefined;
  const shown = unknown.slice(0, 5).map((name) => {
    const meant = nearMiss(name, eventNames);
    return `${JSON.stringify(name.slice(0, 60))}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
  });
  const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : '';
  return `there is no event ${shown.join(', ')}${more}; the events are ${[...eventNames].join(', ')}`;
}

/** Faults: 400 `webhook.stream_unknown`. Not for sessions: their events are those of the parent. */
export async function checkStream(
  id: string,
  { principal, kit }: { principal: Principal; kit: WebhooksKit },
): Promise<void> {
  const row = await kit.resources.get(stream.kind, id);
  const isOwn = row?.account === principal.accountId;
  if (isOwn && (JSON.parse(row.body) as { parentId: string | null }).parentId === null) return;
  const message = `streamId: there is no stream ${id}.`;
  throw new Fault('webhook.stream_unknown', { status: 400, message });
}
