import { type TSchema, Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../base/fault.ts';
import { playlistType } from '../hls/playlist.ts';
import { requestHeaders } from '../http/file-route.ts';
import { faultResponse, says } from '../http/http.ts';
import { nothing, type Operation, storeFaults, text } from '../http/operation.ts';
import { gateFaults, type PlayGate } from '../http/play-gate.ts';
import { readableByAll } from '../http/public-access.ts';
import type { PlayQuestion, PlaySubject } from '../plugin/decide.ts';
import { exposed, type Vod, vodFaults } from './answer.ts';
import { wholeName } from './file-name.ts';
import type { Film } from './films.ts';

/** Films whose place is remembered for while the store does not answer. */
export const maxRemembered = 2000;

/** Films for everyone, as a route. */
export interface FilmRoute {
  /** Name of the call for generated clients: `getRecording`. */
  readonly name: string;
  readonly summary: string;
  /** What names a film in the path. */
  readonly id: { readonly name: string; readonly schema: TSchema };
  /** Codes that `find` throws beside those of the store, and that of `absent`. */
  readonly faults: readonly string[];
  /** Called for each request with what stands in the path. Undefined: there is none. */
  find(id: string): Promise<FoundFilm | undefined>;
  readonly absent: Fault;
  /** Where plugins decide. */
  readonly gate: PlayGate | undefined;
}

/** `subject`: what plugins that decide are told of it. */
export interface FoundFilm {
  readonly film: Film;
  readonly subject: PlaySubject;
}

/**
 * GET and HEAD of `{folder}/{id}/…`, for pages of every origin. The film is looked up for each request, so a deleted one is gone at
 * once on every node, except in caches in front of them.
 */
export function filmRoute(folder: `/${string}`, options: FilmRoute & { films: Vod }): AnyElysia {
  const { name, summary, id, faults, absent, films, gate } = options;
  const find = lastKnown((asked) => options.find(asked));

  const answer = async (asked: string, file: { name: string; request: Request }): Promise<Response> => {
    const found = await find(asked);
    if (!found) throw absent;
    const what = whatIs(file.name, films);
    const terms = await gate?.admit(file.request, { ...found.subject, what, file: file.name });
    const wanted =
      terms?.pass && what === 'playlist' ? { ...file, request: unconditional(file.request) } : file;
    const made = await films.answer({ ...found.film, ...identityOf(found.subject) }, wanted);
    if (!made) throw absent;
    const answer = gate ? await gate.seal(made, terms) : made;
    for (const [header, value] of Object.entries(open)) answer.headers.set(header, value);
    return answer;
  };

  const operation: Operation = {
    name,
    isOpen: true,
    isOnEveryNode: true,
    path: { [id.name]: id.schema, file: Type.String({ examples: ['index.m3u8', 'source.mp4'] }) },
    query: Object.assign({}, ...films.files.map(({ query }) => query)),
    headers: requestHeaders,
    answers: {
      200: text(
        [...new Set([...[playlistType, 'video/mp4', 'text/vtt'], ...films.files.map(({ type }) => type)])],
        'A playlist (RFC 8216), media, subtitles, or a picture of it.',
      ),
      206: text(['video/mp4'], 'The bytes that `Range` names.'),
      304: { ...nothing, description: 'The file has not changed.' },
    },
    faults: [
      ...new Set([
        ...gateFaults,
        ...faults,
        ...vodFaults,
        ...films.files.flatMap((file) => file.faults),
        ...storeFaults,
      ]),
    ],
  };
  return new Elysia().get(
    `${folder}/:${id.name}/*`,
    ({ params, request }: { params: Record<string, string>; request: Request }) =>
      answer(params[id.name], { name: params['*'], request }).catch(refused),
    says(summary, operation),
  );
}

/** The same for a client that has nothing yet and takes nothing compressed: its playlist is made of the one for all. */
function unconditional({ url, signal }: Request): Request {
  return new Request(url, { signal });
}

/** For text tracks. */
function identityOf({ account, assetId, playbackId, sessionId }: PlaySubject): Pick<Film, 'identity'> {
  if (assetId === undefined || playbackId === undefined) return {};
  return { identity: { assetId, account, playbackId, ...(sessionId !== undefined && { sessionId }) } };
}

function whatIs(name: string, { files }: Vod): PlayQuestion['what'] {
  const beside = files.find((file) => file.name === name);
  if (beside) return beside.what ?? 'image';
  if (name === wholeName) return 'download';
  return name.endsWith('.m3u8') ? 'playlist' : 'media';
}

const open = { ...readableByAll, 'access-control-expose-headers': exposed };

/** A browser shows scripts the status of an error only if the error allows their origin too. */
function refused(error: unknown): Response {
  if (!(error instanceof Fault)) throw error;
  return faultResponse(error, { ...open, 'cache-control': 'no-store' });
}

/**
 * Finds what `look` finds. While that fails with 503 (the store is out), the last answer counts, so that viewers can go on watching;
 * a film that was deleted elsewhere meanwhile is still found.
 */
export function lastKnown<T>(
  look: (key: string) => Promise<T | undefined>,
): (key: string) => Promise<T | undefined> {
  const known = new Map<string, T>();
  return async (key) => {
    let found: T | undefined;
    try {
      found = await look(key);
    } catch (error) {
      const last = known.get(key);
      if (last !== undefined && error instanceof Fault && error.status === 503) return last;
      throw error;
    }
    known.delete(key);
    if (found === undefined) return undefined;
    known.set(key, found);
    if (known.size > maxRemembered) known.delete(known.keys().next().value as string);
    return found;
  };
}
