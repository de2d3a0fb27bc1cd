import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, nameSchema } from '../../core/base/name.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { type Access, accessMethods, resourcePattern } from '../../core/http/access.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';

/** Of one API key: each request may have to be compared with all of them. */
const maxRules = 20;
const maxOrigins = 50;
/** Of one rule. */
const maxResources = 20;
/** Characters of a resource or an origin. */
const maxLength = 200;

const rule = object({
  resources: Type.Array(
    Type.String({
      maxLength,
      pattern: resourcePattern,
      expected: `a path below /api like stream, stream/:id or stream/*, at most ${maxLength} characters`,
      examples: ['stream/*'],
    }),
    { maxItems: maxResources },
  ),
  methods: Type.Optional(
    Type.Array(oneOf(accessMethods, { expected: `one of ${accessMethods.join(', ')}` }), {
      maxItems: accessMethods.length,
    }),
  ),
});

const origin = Type.String({
  maxLength,
  pattern: '^(?:\\*|[a-z][a-z0-9+.-]*://[^\\s/?#@]+)$',
  expected: `an origin like https://example.com, or *, at most ${maxLength} characters`,
  examples: ['https://studio.example'],
});

const access = object({
  rules: Type.Optional(Type.Array(rule, { maxItems: maxRules })),
  cors: Type.Optional(object({ allowedOrigins: Type.Array(origin, { maxItems: maxOrigins }) })),
});

/** Fields of a new key that a client may set. */
export const tokenFields = {
  name: Type.Optional(nameSchema('Studio')),
  access: Type.Optional(access),
  accountId: optional.string({
    maxLength: maxIdLength,
    description: 'Account of the new key; only for keys of the admin account.',
    examples: idSchema.examples,
  }),
};

const shown = {
  id: idSchema,
  name: Type.String({ examples: ['Studio'] }),
  userId: Type.String({ description: 'Account that it belongs to.', examples: idSchema.examples }),
  access,
  createdAt: momentSchema,
};

/** An API key as the API shows it. */
export const tokenSchema = Type.Object(shown, { $id: 'ApiToken', additionalProperties: false });
/** The same with its secret, in the answer that creates it. */
export const newTokenSchema = object(
  { ...shown, key: Type.String({ description: 'The secret.', examples: ['mr_4WbDdZ2Yk0xq'] }) },
  { $id: 'NewApiToken' },
);

/** Refuses origins that no browser sends: with a default port, capitals or non-ASCII letters. */
export function checkOrigins(given: Access | undefined): void {
  const problems = (given?.cors?.allowedOrigins ?? []).flatMap((text, index) => {
    if (!/^https?:/.test(text)) return [];
    const sent = URL.canParse(text) ? new URL(text).origin : undefined;
    if (sent === text) return [];
    const expected = sent === undefined ? 'expected an origin' : `expected ${sent}, as browsers send it`;
    return [`access.cors.allowedOrigins.${index}: ${expected}`];
  });
  if (problems.length > 0) throw new Fault('body.invalid', { status: 422, message: problems });
}
