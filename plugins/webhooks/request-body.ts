import { type Static, Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, maxNameLength } from '../../core/base/name.ts';
import { nearMiss } from '../../core/base/near-miss.ts';
import { plainHeaders } from '../../core/base/standard-webhook.ts';
import type { Principal } from '../../core/http/auth.ts';
import { type BodyReader, bodyReader } from '../../core/http/body.ts';
import { emittedEvents, knownEvents } from '../events/contract.ts';
import { stream } from '../streams/contract.ts';
import type { WebhooksKit } from './config.ts';
import type { WebhookOwner } from './contract.ts';
import { leastSecretBytes, secretPattern } from './send.ts';

/** Browsers and servers take about as much. */
const maxUrlLength = 2000;
const maxSecretLength = 500;
/** Names of one webhook, at least; where there are more events twice as many as there are: a client may repeat some. */
const minMaxEventNames = 100;

/** @param options `known`: events that can be named; `emitted`: those that the document shows */
function fieldsOf({ known, emitted }: { known: ReadonlySet<string>; emitted: readonly string[] }) {
  return {
    name: Type.String({ minLength: 1, maxLength: maxNameLength, examples: ['My backend'] }),
    url: Type.String({
      maxLength: maxUrlLength,
      // URL parsers drop line breaks and tabs; what is stored and shown must be what is called.
      pattern: '^[hH][tT][tT][pP][sS]?://[^\\x00-\\x1f\\x7f]*$',
      schemes: ['http', 'https'],
      examples: ['https://example.com/hooks'],
      expected: `an http:// or https:// URL of at most ${maxUrlLength} characters, without control characters`,
    }),
    // `enum` is for the document: `eventProblem` has the better message.
    events: Type.Array(Type.String({ enum: emitted }), {
      minItems: 1,
      maxItems: Math.max(minMaxEventNames, 2 * known.size),
      examples: [emitted.slice(0, 2)],
    }),
    streamId: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: maxIdLength }), Type.Null()], {
        description: 'Only events of this stream are sent; null: those of all.',
        examples: [null],
      }),
    ),
    sharedSecret: Type.Optional(
      Type.Union([Type.String({ maxLength: maxSecretLength, pattern: secretPattern }), Type.Null()], {
        examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
        expected: `whsec_ and base64 of at least ${leastSecretBytes} bytes, or other text of at least as many characters`,
      }),
    ),
  };
}

export type WebhookBody = Static<ReturnType<typeof Type.Object<ReturnType<typeof fieldsOf>>>>;

/** Reads bodies of webhooks, checked as far as possible without the store. Faults: 422 `body.invalid`. */
export interface WebhookBodies {
  readonly reader: BodyReader<WebhookBody>;
  /** Of a POST or PUT. `stored`: names that are taken whether a plugin that is on emits them or not. */
  read(request: Request, options: { owner: WebhookOwner; stored?: readonly string[] }): Promise<WebhookBody>;
  /** A webhook that a plugin describes. */
  check(value: unknown, options: { owner: WebhookOwner }): WebhookBody;
  /** What is wrong with names of events, or undefined. Repeats at most five unknown names, shortened. */
  eventProblem(names: readonly string[]): string | undefined;
}

export function webhookBodies(kit: Pick<WebhooksKit, 'events' | 'outbound'>): WebhookBodies {
  const known = knownEvents(kit.events.declared);
  const emitted = emittedEvents(kit.events.declared);
  const reader = bodyReader(fieldsOf({ known, emitted }), {
    readOnly: ['id', 'kind', 'format', 'userId', 'createdAt', 'status'],
  });
  const checked = (
    body: WebhookBody,
    { owner, stored = [] }: { owner: WebhookOwner; stored?: readonly string[] },
  ): WebhookBody => {
    const request = { method: 'POST', headers: plainHeaders, owner: owner.accountId } as const;
    const url = kit.outbound.problem(body.url, request);
    const events = problemOf(body.events, known.union(new Set(stored)));
    const message = [...(url ? [`url: ${url.message}`] : []), ...(events ? [`events: ${events}`] : [])];
    if (message.length > 0) throw new Fault('body.invalid', { status: 422, message });
    return { ...body, events: [...new Set(body.events)] };
  };
  return {
    reader,
    read: async (request, options) => checked(await reader.read(request), options),
    check: (value, options) => checked(reader.check(value), options),
    eventProblem: (names) => problemOf(names, known),
  };
}

function problemOf(names: readonly string[], known: ReadonlySet<string>): string | undefined {
  const unknown = [...new Set(names)].filter((name) => !known.has(name));
  if (unknown.length === 0) return undefined;
  const shown = unknown.slice(0, 5).map((name) => {
    const meant = nearMiss(name, known);
    return `${JSON.stringify(name.slice(0, 60))}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
  });
  const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : '';
  return `there is no event ${shown.join(', ')}${more}; the events are ${[...known].join(', ')}`;
}

/** Faults: 400 `webhook.stream_unknown`. Not for sessions: their events are those of the parent. */
export async function checkStream(
  id: string,
  { owner, kit }: { owner: Pick<Principal, 'accountId'>; kit: WebhooksKit },
): Promise<void> {
  const row = await kit.resources.get(stream.kind, id);
  const isOwn = row?.account === owner.accountId;
  if (isOwn && (JSON.parse(row.body) as { parentId: string | null }).parentId === null) return;
  const message = `streamId: there is no stream ${id}.`;
  throw new Fault('webhook.stream_unknown', { status: 400, message });
}
