import { type Operation, storeFaults } from '../../../core/http/operation.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';
import type { JsonSchema } from './schema.ts';

/** Codes of all errors of a route: those it names, and those that come with a key, a body, a POST. */
export function faultsOf(method: string, operation: Operation): string[] {
  const isKeyed = !operation.isOpen;
  const isWrite = !['GET', 'HEAD', 'OPTIONS'].includes(method);
  return [
    ...new Set([
      ...(isKeyed ? ofKeys : []),
      ...(isKeyed ? storeFaults : []),
      ...(isKeyed && isWrite ? ofWrites : []),
      ...(isKeyed && method === 'POST' && !operation.hasNoIdempotencyKey ? ofRepeats : []),
      ...(operation.body ? ofBodies : []),
      ...(operation.faults ?? []),
      'internal',
    ]),
  ];
}

const ofKeys = [
  ...['auth.missing', 'auth.invalid', 'auth.origin_not_allowed', 'auth.not_allowed', 'rate.limited'],
];
const ofWrites = ['store.full', 'server.stopping', 'account.limit'];
const ofRepeats = [
  ...['idempotency.key_invalid', 'idempotency.key_reused', 'idempotency.running', 'idempotency.too_many'],
];
const ofBodies = ['body.malformed', 'body.too_large', 'body.invalid'];

export const errorSchema: JsonSchema = {
  type: 'object',
  description: 'Every error has this form.',
  properties: {
    errors: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      description: 'What is wrong; each names the culprit.',
    },
    code: { type: 'string', description: 'Stable; for programs.' },
  },
  required: ['errors', 'code'],
  additionalProperties: false,
};

/** Writes the errors of routes, those that several have in common once. */
export class ErrorResponses {
  readonly components: Record<string, JsonSchema> = {};
  readonly #table: FaultTable;

  constructor(table: FaultTable) {
    this.#table = table;
  }

  /**
   * Responses by status, each with the codes it may have; all of them are in the table. `form`: of the errors of a plugin, with the
   * name of that.
   */
  of(codes: readonly string[], options: ErrorsOptions): Record<string, JsonSchema> {
    const byStatus = Map.groupBy(codes, (code) => this.#table[code].status);
    return Object.fromEntries(
      [...byStatus].map(([status, own]) => {
        const { hasBody, form } = options;
        const name = [status, ...own, ...(form ? [form.owner] : []), ...(hasBody ? [] : ['head'])].join('-');
        this.components[name] ??= this.#written(status, { own, ...options });
        return [status, { $ref: `#/components/responses/${name}` }];
      }),
    );
  }

  #written(status: number, { own, hasBody, form }: ErrorsOptions & { own: readonly string[] }): JsonSchema {
    const meaning = (code: string) => this.#table[code].meaning;
    const content = form?.content ?? {
      schema: { allOf: [{ $ref: '#/components/schemas/Error' }], properties: { code: { enum: own } } },
      examples: Object.fromEntries(own.map((code) => [code, { value: { errors: [meaning(code)], code } }])),
    };
    return {
      description: own.map((code) => `\`${code}\`: ${meaning(code)}`).join('\n\n'),
      ...(headers[status] && { headers: headers[status] }),
      ...(hasBody && { content: { 'application/json': content } }),
    };
  }
}

interface ErrorsOptions {
  readonly hasBody: boolean;
  readonly form?: { readonly owner: string; readonly content: JsonSchema };
}

const retryAfter = {
  'Retry-After': {
    description: 'Seconds after which a repeat may succeed.',
    schema: { type: 'integer', minimum: 0 },
  },
};
const rate = {
  RateLimit: {
    description: '`r`: what is left; `t`: seconds until all of it is there again (of `rate.limited`).',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: '`q`: the most at once; `w`: seconds in which it comes back.',
    schema: { type: 'string' },
  },
};
const headers: Record<number, Record<string, unknown>> = {
  401: { 'WWW-Authenticate': { description: 'Always.', schema: { const: 'Bearer' } } },
  404: retryAfter,
  409: retryAfter,
  429: { ...retryAfter, ...rate },
  503: retryAfter,
};
