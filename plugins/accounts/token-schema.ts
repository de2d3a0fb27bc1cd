import { Type } from '@sinclair/typebox';
import { type Access, accessMethods, resourcePattern } from '../../core/access.ts';
import { Fault } from '../../core/fault.ts';
import { requestLimits } from '../../core/limits.ts';
import { nameSchema } from '../../core/name.ts';
import { accountLimits } from './limits.ts';

const { originLength, origins, resourceLength, resources, rules } = accountLimits;

const rule = Type.Object(
  {
    resources: Type.Array(
      Type.String({
        maxLength: resourceLength.value,
        pattern: resourcePattern,
        expected: `a path below /api like stream, stream/:id or stream/*, at most ${resourceLength.value} characters`,
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
  name: Type.Optional(nameSchema),
  access: Type.Optional(access),
  accountId: Type.Optional(Type.String({ maxLength: requestLimits.idLength.value })),
};

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
