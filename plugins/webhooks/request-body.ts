import { type Static, Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, maxNameLength } from '../../core/base/name.ts';
import type { Principal } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { eventNames } from '../events/contract.ts';
import { stream } from '../streams/contract.ts';
import { eventProblem } from './event-names.ts';
import type { WebhooksKit } from './kit.ts';
import { webhookLimits } from './limits.ts';
import { plainHeaders } from './send.ts';
import { secretPattern } from './signature.ts';

const fields = {
  name: Type.String({ minLength: 1, maxLength: maxNameLength }),
  url: Type.String({
    maxLength: webhookLimits.url,
    // URL parsers drop line breaks and tabs; what is stored and shown must be what is called.
    pattern: '^[hH][tT][tT][pP][sS]?://[^\\x00-\\x1f\\x7f]*$',
    schemes: ['http', 'https'],
    examples: ['https://example.com/hooks'],
    expected: `an http:// or https:// URL of at most ${webhookLimits.url} characters, without control characters`,
  }),
  // `enum` is for the document: what is wrong with a name is better said by `eventProblem`.
  events: Type.Array(Type.String({ enum: [...eventNames] }), {
    minItems: 1,
    maxItems: webhookLimits.eventNames,
    examples: [['stream.started', 'stream.idle']],
  }),
  streamId: Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: maxIdLength }), Type.Null()])),
  sharedSecret: Type.Optional(
    Type.Union(
      [Type.String({ maxLength: webhookLimits.secretLength, pattern: secretPattern }), Type.Null()],
      {
        examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
        expected: `whsec_ and base64 of at least ${webhookLimits.secretBytes} bytes, or other text of at least as many characters`,
      },
    ),
  ),
};
const readOnly = ['id', 'kind', 'userId', 'createdAt', 'status'];

export const webhookBodyReader = bodyReader(fields, { readOnly });
type WebhookBody = Static<ReturnType<typeof Type.Object<typeof fields>>>;

/** The body of a POST or PUT, checked as far as text can tell. Faults: 422 `body.invalid`. */
export async function webhookBody(request: Request, kit: WebhooksKit): Promise<WebhookBody> {
  const read = (await webhookBodyReader.read(request)) as WebhookBody;
  const problems: string[] = [];
  const url = kit.outbound.problem(read.url, { method: 'POST', headers: plainHeaders });
  if (url) problems.push(`url: ${url.message}`);
  const events = eventProblem(read.events);
  if (events) problems.push(`events: ${events}`);
  if (problems.length > 0) throw new Fault('body.invalid', { status: 422, message: problems });
  return { ...read, events: [...new Set(read.events)] };
}

/** Faults: 400 `webhook.stream_unknown`. Sessions are not asked for: their events are those of the parent. */
export async function checkStream(
  id: string,
  { principal, kit }: { principal: Principal; kit: WebhooksKit },
): Promise<void> {
  const row = await kit.resources.get(stream.kind, id, { isBeside: true });
  const isOwn = row?.account === principal.accountId;
  if (isOwn && (JSON.parse(row.body) as { parentId: string | null }).parentId === null) return;
  const message = `streamId: there is no stream ${id}.`;
  throw new Fault('webhook.stream_unknown', { status: 400, message });
}
