import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { maxIdLength, nameSchema } from '../../core/base/name.ts';
import { type Access, accessMethods, resourcePattern } from '../../core/http/access.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import { accountLimits } from './limits.ts';

const { originLength, origins, resourceLength, resources, rules } = accountLimits;

const rule = Type.Object(
  {
    resources: Type.Array(
      Type.String({
        maxLength: resourceLength.value,
        pattern: resourcePattern,
        expected: `a path below /api like stream, stream/:id or stream/*, at most ${resourceLength.value} characters`,
        examples: ['stream/*'],
      }),
      { maxItems: resources.value },
    ),
    methods: Type.Optional(
      Type.Array(
        Type.Union(
          accessMethods.map((method) => Type.Literal(method)),
          { expected: `one of ${accessMethods.join(', ')}` },
        ),
        { maxItems: accessMethods.length },
      ),
    ),
  },
  { additionalProperties: false },
);

const origin = Type.String({
  maxLength: originLength.value,
  pattern: '^(?:\\*|[a-z][a-z0-9+.-]*://[^\\s/?#@]+)$',
  expected: `an origin like https://example.com, or *, at most ${originLength.value} characters`,
  examples: ['https://studio.example'],
});

const access = Type.Object(
  {
    rules: Type.Optional(Type.Array(rule, { maxItems: rules.value })),
    cors: Type.Optional(
      Type.Object(
        { allowedOrigins: Type.Array(origin, { maxItems: origins.value }) },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

/** What a client may say of a new key. */
export const tokenFields = {
  name: Type.Optional(nameSchema('Studio')),
  access: Type.Optional(access),
  accountId: Type.Optional(
    Type.String({
      maxLength: maxIdLength,
      description: 'Account that the key is for; needs a key of the admin account.',
      examples: idSchema.examples,
    }),
  ),
};

const shown = {
  id: idSchema,
  name: Type.String({ examples: ['Studio'] }),
  userId: Type.String({ description: 'Account that it belongs to.', examples: idSchema.examples }),
  access,
  createdAt: momentSchema,
};

/** An API key as it is shown. */
export const tokenSchema = Type.Object(shown, { $id: 'ApiToken', additionalProperties: false });
/** The same, this once with its secret. */
export const newTokenSchema = Type.Object(
  { ...shown, key: Type.String({ description: 'The secret.', examples: ['mr_4WbDdZ2Yk0xq'] }) },
  { $id: 'NewApiToken', additionalProperties: false },
);

/** Refuses origins that no browser would ever send: with a default port, capitals or letters beyond ASCII. */
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
