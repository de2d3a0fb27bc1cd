import type { Operation } from '../../core/operation.ts';
import type { FaultTable } from '../../core/plugin.ts';
import type { JsonSchema } from './schema.ts';

/** Codes of all errors of a route: those it names, and those that come with a key, a body, a POST. */
export function faultsOf(method: string, operation: Operation): string[] {
  const isKeyed = !operation.isOpen;
  const isWrite = !['GET', 'HEAD', 'OPTIONS'].includes(method);
  return [
    ...new Set([
      ...(isKeyed ? ofKeys : []),
      ...(isKeyed ? ofStore : []),
      ...(isKeyed && isWrite ? ofWrites : []),
      ...(isKeyed && method === 'POST' ? ofRepeats : []),
      ...(operation.body ? ofBodies : []),
      ...(operation.faults ?? []),
      'internal',
    ]),
  ];
}

const ofKeys = ['auth.missing', 'auth.invalid', 'auth.origin_not_allowed', 'auth.not_allowed'];
const ofStore = ['store.busy', 'store.unknown', 'store.failed', 'store.closed'];
const ofWrites = ['store.full', 'server.stopping'];
const ofRepeats = ['idempotency.key_invalid', 'idempotency.key_reused', 'idempotency.running'];
const ofBodies = ['body.malformed', 'body.too_large', 'body.invalid'];

export const errorSchema: JsonSchema = {
  type: 'object',
  description: 'Every error has this form.',
  properties: {
    errors: {
      type: 'array',
      items: { type: 'string' },
      minItems: 1,
      description: 'What is wrong, in plain words; each names the culprit.',
    },
    code: { type: 'string', description: 'Stable; for programs.' },
  },
  required: ['errors', 'code'],
  additionalProperties: false,
};

/** Responses by status, each with the codes it may have. `codes` are all in `table`. */
export function errorResponses(codes: readonly string[], table: FaultTable): Record<string, JsonSchema> {
  const byStatus = Map.groupBy(codes, (code) => table[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, own]) => [
      status,
      {
        description: own.map((code) => `\`${code}\`: ${table[code].meaning}`).join('\n\n'),
        headers: headers[status] ?? {},
        content: {
          'application/json': {
            schema: {
              allOf: [{ $ref: '#/components/schemas/Error' }],
              properties: { code: { enum: own } },
            },
            examples: Object.fromEntries(
              own.map((code) => [code, { value: { errors: [table[code].meaning], code } }]),
            ),
          },
        },
      },
    ]),
  );
}

const retryAfter = {
  'Retry-After': {
    description: 'Seconds after which a repeat may succeed.',
    schema: { type: 'integer', minimum: 0 },
  },
};
const headers: Record<number, Record<string, unknown>> = {
  401: { 'WWW-Authenticate': { description: 'Always.', schema: { const: 'Bearer' } } },
  404: retryAfter,
  409: retryAfter,
  503: retryAfter,
};
