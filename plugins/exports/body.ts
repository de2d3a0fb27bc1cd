import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { object } from '../../core/base/schema.ts';
import { type BodyReader, bodyReader } from '../../core/http/body.ts';
import type { Outbound, OutboundMethod } from '../../core/ports/outbound.ts';
import { credentialsOf, type PinningCredentials } from '../tasks/contract.ts';

/** `custom.headers`: how many, and bytes of their names and values. */
export const mostHeaders = 32;
export const headerBytes = 8192;
/** `ipfs.erc1155Metadata`: bytes of JSON, and levels. */
const metadataBytes = 32_768;
const metadataDepth = 16;
/** Characters of `custom.url`. */
export const mostUrlCharacters = 8192;
/** Characters of `jwt`, `apiKey` and `apiSecret`. */
const mostCredentialCharacters = 4096;

/** Line ends are no end of it: check.ts says what is wrong with a name. */
const anyName = Type.String({ pattern: '^[\\s\\S]*$' });

/** The body of `POST /api/asset/:id/export`: what a schema can say of it. */
export const exportBody = bodyReader(
  {
    ipfs: Type.Optional(
      object(
        {
          pinning: Type.Optional(
            object(
              {
                jwt: credential('Token of the account.'),
                apiKey: credential('With apiSecret.'),
                apiSecret: credential('With apiKey.'),
              },
              {
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
        { expected: 'an object, which may be empty', description: 'To IPFS. May be empty.' },
      ),
    ),
    custom: Type.Optional(
      object(
        {
          url: Type.String({
            minLength: 1,
            maxLength: mostUrlCharacters,
            expected: `an http or https URL of at most ${mostUrlCharacters} characters`,
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
        { expected: 'an object with url, method and headers', description: 'To a URL of your own.' },
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
      pattern: `^[!-~]{1,${mostCredentialCharacters}}$`,
      expected: `up to ${mostCredentialCharacters} letters, digits or signs, without spaces`,
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

/** What no schema can say of the body. Throws `body.invalid` (422) with every problem, each by its field. */
export function checkExport(
  body: ExportBody,
  { outbound, owner }: { outbound: Pick<Outbound, 'problem'>; owner: string },
): void {
  const { ipfs, custom } = body;
  const problems = [
    ...choiceProblems(body),
    ...(ipfs ? ipfsProblems(ipfs) : []),
    ...(custom ? customProblems(custom, { outbound, owner }) : []),
  ];
  if (problems.length > 0) throw new Fault('body.invalid', { status: 422, message: problems });
}

function choiceProblems({ ipfs, custom }: ExportBody): string[] {
  if (ipfs && custom) return ['ipfs, custom: expected exactly one of them; both are there'];
  return ipfs || custom ? [] : ['ipfs, custom: expected exactly one of them; neither is there'];
}

function ipfsProblems({ pinning, erc1155Metadata, nftMetadata }: Ipfs): string[] {
  const problems = pinning ? pinningProblems(pinning) : [];
  if (erc1155Metadata && nftMetadata)
    problems.push('ipfs.nftMetadata: is the older name of ipfs.erc1155Metadata; expected one of both');
  for (const [name, document] of Object.entries({ erc1155Metadata, nftMetadata })) {
    const problem = document && metadataProblem(document);
    if (problem) problems.push(`ipfs.${name}: ${problem}`);
  }
  return problems;
}

function pinningProblems({ jwt, apiKey, apiSecret }: NonNullable<Ipfs['pinning']>): string[] {
  if (jwt !== undefined) {
    const isBoth = apiKey !== undefined || apiSecret !== undefined;
    return isBoth ? ['ipfs.pinning: expected either jwt, or apiKey and apiSecret; both are there'] : [];
  }
  if (apiKey === undefined && apiSecret === undefined)
    return ['ipfs.pinning: expected either jwt, or apiKey and apiSecret; neither is there'];
  if (apiSecret === undefined) return ['ipfs.pinning.apiSecret: is required beside apiKey'];
  return apiKey === undefined ? ['ipfs.pinning.apiKey: is required beside apiSecret'] : [];
}

function metadataProblem(document: object): string | undefined {
  if (Buffer.byteLength(JSON.stringify(document)) > metadataBytes)
    return `expected at most ${metadataBytes} bytes of JSON`;
  if (depthOf(document) > metadataDepth) return `expected at most ${metadataDepth} levels`;
  return hasPrototype(document) ? 'no key may be __proto__' : undefined;
}

function customProblems(custom: Custom, { outbound, owner }: { outbound: Checker; owner: string }): string[] {
  const { url, headers = {} } = custom;
  const entries = Object.entries(headers);
  if (entries.length > mostHeaders) return [`custom.headers: expected at most ${mostHeaders} headers`];
  const bytes = entries.reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
  if (bytes > headerBytes)
    return [`custom.headers: expected at most ${headerBytes} bytes of names and values`];
  const request = { method: methodOf(custom), owner };
  const wrong = outbound.problem(url, request);
  if (wrong) return [`custom.url: ${wrong.message}`];
  // One by one, so that each that is wrong is named.
  const problems = entries.flatMap(([name, value]) => {
    const problem = outbound.problem(url, { ...request, headers: { [name]: value } });
    return problem ? [`custom.headers.${shown(name)}: ${problem.message}`] : [];
  });
  if (problems.length > 0) return problems;
  const all = outbound.problem(url, { ...request, headers });
  return all ? [`custom.headers: ${all.message}`] : [];
}

/** A name that is none may be anything. */
function shown(name: string): string {
  return /^[\w-]{1,64}$/.test(name) ? name : JSON.stringify(name.slice(0, 64));
}

function depthOf(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  return 1 + Object.values(value).reduce((most: number, one) => Math.max(most, depthOf(one)), 0);
}

function hasPrototype(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototype);
}

type Ipfs = NonNullable<ExportBody['ipfs']>;
type Custom = NonNullable<ExportBody['custom']>;
type Checker = Pick<Outbound, 'problem'>;

/** What an export was asked to be. What may be shown of it is in the task's `params`, the rest in its `secret`. */
export type Asked =
  | { readonly params: { readonly ipfs: IpfsParams }; readonly secret: { readonly ipfs: IpfsSecret } }
  | {
      readonly params: { readonly custom: CustomParams };
      readonly secret: { readonly custom: CustomSecret };
    };

export interface IpfsParams {
  /** The caller brought credentials. */
  readonly pinning?: true;
  readonly erc1155Metadata?: Readonly<Record<string, unknown>>;
}

export interface IpfsSecret {
  readonly pinning?: PinningCredentials;
}

export interface CustomParams {
  /** Without its query, which may be a signature. */
  readonly url: string;
  readonly method: CustomMethod;
  /** Their names. */
  readonly headers?: readonly string[];
}

export interface CustomSecret {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export type CustomMethod = Extract<OutboundMethod, 'PUT' | 'POST' | 'PATCH'>;

/** The schema has seen to it that it is one of them. */
export function methodOf({ method = 'PUT' }: { readonly method?: string }): CustomMethod {
  return method.toUpperCase() as CustomMethod;
}

/** The two halves of a request that was found to be in order. */
export function askedBy({ ipfs, custom }: ExportBody): Asked {
  if (custom) {
    const { url, headers = {} } = custom;
    const method = methodOf(custom);
    const { origin, pathname } = new URL(url);
    const names = Object.keys(headers);
    const shown = { url: `${origin}${pathname}`, method, ...(names.length > 0 && { headers: names }) };
    return { params: { custom: shown }, secret: { custom: { url, headers } } };
  }
  const { pinning, erc1155Metadata = ipfs?.nftMetadata } = ipfs ?? {};
  return {
    params: { ipfs: { ...(pinning && { pinning: true }), ...(erc1155Metadata && { erc1155Metadata }) } },
    secret: { ipfs: pinning ? { pinning: credentialsOf(pinning) } : {} },
  };
}
