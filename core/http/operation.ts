import { type TSchema, Type } from '@sinclair/typebox';

/**
 * What a client must know of a route beside its method and path. `/openapi.json` is made from this, the tests check
 * every answer against it, and the program does not start with a route that has none.
 */
export interface Operation {
  /** Name of the call for generated clients, unique in the program: `createStream`. */
  readonly name: string;
  /** For everyone. Otherwise a key is needed, and the faults of keys and store are among its errors unsaid. */
  readonly isOpen?: true;
  /** A POST that makes nothing by itself, and so takes no `Idempotency-Key`. */
  readonly hasNoIdempotencyKey?: true;
  /** How a key may be given: `key` is `Authorization: Bearer` (default), `basic` its id and secret (RFC 7617). */
  readonly credentials?: readonly ('key' | 'basic')[];
  /** Answered by nodes of every role: health, metrics, playback. All else needs the role `api`. */
  readonly isOnEveryNode?: true;
  /** Schemas of path parameters; default: an id. A name that the path has not is that of its `*`. */
  readonly path?: Parameters;
  readonly query?: Parameters;
  readonly headers?: Parameters;
  /** The reader that checks the body; its faults are among the errors unsaid. */
  readonly body?: OperationBody;
  /** Instead of `body`: media types of a file, which the handler reads as it comes, to a bound of its own. */
  readonly file?: readonly string[];
  /** Successes, by status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Codes of all other errors, from the fault tables of enabled plugins. */
  readonly faults?: readonly string[];
}

/** By name. One with `isRequired` must be there; the value of one with `isJson` is JSON text. */
export type Parameters = Readonly<Record<string, TSchema>>;

export interface OperationBody {
  readonly schema: TSchema;
  /** Fields that are accepted and ignored, so that what was read can be sent back. */
  readonly readOnly: readonly string[];
}

export interface Answer {
  readonly description: string;
  /** Media type → schema of the body; of what is not JSON a string. None: no body. */
  readonly content?: Readonly<Record<string, TSchema>>;
  /** Those that may be there. */
  readonly headers?: Parameters;
}

/** A JSON answer. `schema` names every field: `additionalProperties: false` all the way down. */
export function json(schema: TSchema, description = 'Done.', headers: Parameters = {}): Answer {
  return { description, content: { 'application/json': schema }, headers };
}

/** An answer that is not JSON, in one of some media types. */
export function text(types: readonly string[], description: string, headers: Parameters = {}): Answer {
  return {
    description,
    content: Object.fromEntries(types.map((type) => [type, Type.String()])),
    headers,
  };
}

/** A 204. */
export const nothing: Answer = { description: 'Done. There is no body.' };

/** Errors of every route that reads from the store. */
export const storeFaults = [
  'store.busy',
  'store.unknown',
  'store.behind',
  'store.failed',
  'store.closed',
] as const;

/** An id as this program makes them. */
export const idSchema = Type.String({ examples: ['1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1'] });
/** Epoch ms. */
export const momentSchema = Type.Number({ description: 'Epoch milliseconds.', examples: [1767225600000] });
/** A switch in a query. */
export function flagSchema(description: string): TSchema {
  return Type.Union(
    ['1', '0', 'true', 'false'].map((value) => Type.Literal(value)),
    { description, examples: ['1'] },
  );
}
