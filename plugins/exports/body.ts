import { Type } from '@sinclair/typebox';
import { type BodyReader, bodyReader } from '../../core/http/body.ts';
import { exportLimits } from './limits.ts';

/** Line ends are no end of it: check.ts says what is wrong with a name. */
const anyName = Type.String({ pattern: '^[\\s\\S]*$' });

/** The body of `POST /api/asset/:id/export`: what a schema can say of it. */
export const exportBody = bodyReader(
  {
    ipfs: Type.Optional(
      Type.Object(
        {
          pinning: Type.Optional(
            Type.Object(
              {
                jwt: credential('Token of the account.'),
                apiKey: credential('With apiSecret.'),
                apiSecret: credential('With apiKey.'),
              },
              {
                additionalProperties: false,
                expected: 'an object with either jwt, or apiKey and apiSecret',
                description:
                  'Your account at the pinning service: either `jwt`, or `apiKey` and `apiSecret`. Default: what the deployment has set. Never shown again.',
              },
            ),
          ),
          erc1155Metadata: metadata(
            'Changes the ERC-1155 metadata as a JSON Merge Patch does: objects merge, `null` deletes, everything else replaces.',
          ),
          nftMetadata: metadata('The older name of `erc1155Metadata`; one of both.'),
        },
        {
          additionalProperties: false,
          expected: 'an object, which may be empty',
          description: 'To IPFS. May be empty.',
        },
      ),
    ),
    custom: Type.Optional(
      Type.Object(
        {
          url: Type.String({
            minLength: 1,
            maxLength: exportLimits.urlLength,
            expected: `an http or https URL of at most ${exportLimits.urlLength} characters`,
            description:
              'Where the file goes, such as a signed URL. What is behind `?` is never shown again.',
            examples: ['https://bucket.s3.example.com/film.mp4?X-Amz-Signature=…'],
          }),
          method: Type.Optional(
            Type.String({
              pattern: '^([Pp][Uu][Tt]|[Pp][Oo][Ss][Tt]|[Pp][Aa][Tt][Cc][Hh])$',
              expected: '"PUT", "POST" or "PATCH"',
              description: '`PUT` (default), `POST` or `PATCH`, in any case.',
              examples: ['PUT'],
            }),
          ),
          headers: Type.Optional(
            Type.Record(anyName, Type.String({ expected: 'text' }), {
              additionalProperties: false,
              description:
                'Sent with the file. Their values are never shown again. `Content-Type` is `video/mp4` unless it is among them; those that say where the request goes and where it ends are ours.',
              examples: [{ 'x-amz-acl': 'private' }],
            }),
          ),
        },
        {
          additionalProperties: false,
          expected: 'an object with url, method and headers',
          description: 'To a URL of your own.',
        },
      ),
    ),
  },
  { example: { custom: { url: 'https://bucket.s3.example.com/film.mp4?X-Amz-Signature=5f1c' } } },
);

export type ExportBody = typeof exportBody extends BodyReader<infer B> ? B : never;

function credential(description: string) {
  return Type.Optional(
    Type.String({
      // What a header can carry.
      pattern: `^[!-~]{1,${exportLimits.credential}}$`,
      expected: `up to ${exportLimits.credential} letters, digits or signs, without spaces`,
      description,
    }),
  );
}

function metadata(description: string) {
  return Type.Optional(
    Type.Record(anyName, Type.Unknown(), {
      additionalProperties: false,
      expected: 'an object',
      description,
      examples: [{ description: 'Friday, live', image: 'ipfs://bafkrei…' }],
    }),
  );
}
