import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import type { Fault } from '../base/fault.ts';
import type { PlayTerms } from '../plugin/decide.ts';
import type { Blobs } from '../ports/blobs.ts';
import { type AnsweredFile, fileAnswer, fileFaults } from './file-answer.ts';
import { says } from './http.ts';
import { nothing, type Operation, type Parameters, storeFaults, text } from './operation.ts';
import { gateFaults, type PlayGate } from './play-gate.ts';
import { openly } from './public-access.ts';

/** A file for everyone, as a route. */
export interface FileRoute {
  /** Name of the call for generated clients: `getAssetVideo`. */
  readonly name: string;
  readonly summary: string;
  /** Media types that it may have. */
  readonly types: readonly string[];
  readonly path: Parameters;
  /** Codes that `find` throws beside those of the store. */
  readonly faults: readonly string[];
  /** Throws when there is none, or when the gate does not admit the request. */
  find(
    params: Readonly<Record<string, string>>,
    request: Request,
  ): Promise<AnsweredFile & { readonly terms: PlayTerms | undefined }>;
  /** Where plugins decide. */
  readonly gate: PlayGate | undefined;
  /** For one whose blobs are gone while its row is read. */
  gone(params: Readonly<Record<string, string>>): Fault;
}

/** GET and HEAD of a file, with ranges, for pages of every origin. */
export function fileRoute(path: string, options: FileRoute & { blobs: Pick<Blobs, 'get'> }): AnyElysia {
  const { name, summary, types, faults, find, gone, blobs, gate } = options;
  const answer = ({ request, params }: { request: Request; params: Record<string, string> }) =>
    openly(async () => {
      const file = await find(params, request);
      const response = await fileAnswer(request, { file, blobs });
      if (!response) throw gone(params);
      const answer = gate ? await gate.seal(response, file.terms) : response;
      answer.headers.set('access-control-expose-headers', exposed);
      return answer;
    });
  const operation: Operation = {
    name,
    isOpen: true,
    isOnEveryNode: true,
    path: options.path,
    headers: requestHeaders,
    answers: {
      200: text(types, whole, headers),
      206: text(types, 'The bytes that `Range` names.', { ...headers, 'Content-Range': contentRange }),
      304: { ...nothing, description: 'The client has this version.' },
    },
    faults: [...gateFaults, ...faults, ...fileFaults, ...storeFaults],
  };
  return new Elysia().get(path, answer, says(summary, operation));
}

const whole = 'The file.';

/** What scripts of other origins may read, beyond what they may read of any answer. */
const exposed = 'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, Last-Modified';

const etag = Type.String({ description: 'The version, in quotes.', examples: ['"3a7bd3e2360a3d29"'] });
const contentRange = Type.String({ examples: ['bytes 0-1023/146515'] });
const headers = {
  'Accept-Ranges': Type.String({ examples: ['bytes'] }),
  'Content-Length': Type.String({ description: 'Bytes of the body.', examples: ['146515'] }),
  'Content-Disposition': Type.String({ description: 'Its name.', examples: ['inline; filename="Film.mp4"'] }),
  ETag: etag,
  'Last-Modified': Type.String({ examples: ['Fri, 02 Jan 2026 03:04:05 GMT'] }),
};
/** Of a request for a file. */
export const requestHeaders = {
  Range: Type.String({
    description: 'One range of bytes; several at once are answered with the whole.',
    examples: ['bytes=0-1023'],
  }),
  'If-Range': Type.String({
    description: 'The range counts for this version alone.',
    examples: etag.examples,
  }),
  'If-None-Match': Type.String({
    description: '304 when it is still this version.',
    examples: etag.examples,
  }),
  'If-Match': Type.String({ description: '412 when it is another version.', examples: etag.examples }),
};
