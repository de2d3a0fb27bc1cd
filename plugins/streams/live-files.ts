import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { storeFaults } from '../../core/http/operation.ts';
import { preconditions } from '../../core/http/preconditions.ts';
import { type LiveFile, liveFiles } from './contract.ts';
import type { StreamsKit } from './kit.ts';
import { notOn } from './not-on.ts';
import type { Relay } from './relay/relay.ts';

/** `/hls/{playbackId}/{name}` for each file that other plugins make of what is on the air: here, or on the node that has it. */
export function liveFileRoutes(
  kit: Pick<StreamsKit, 'offered'>,
  { others, withCors }: { others: Relay | undefined; withCors: (error: unknown) => Response },
): AnyElysia {
  const app = new Elysia();
  for (const file of kit.offered(liveFiles)) {
    const { name, summary, operation } = file;
    app.get(
      `/hls/:playbackId/${name}`,
      ({ params: { playbackId }, request }: { params: Record<string, string>; request: Request }) =>
        answerOf(file, { playbackId, request, others }).catch(withCors),
      says(summary, {
        ...operation,
        isOpen: true,
        isOnEveryNode: true,
        path: { playbackId: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
        faults: [
          ...['playback.not_live', 'playback.too_many_waiting', 'node.unreachable'],
          ...[...operation.faults, ...storeFaults],
        ],
      }),
    );
  }
  return app;
}

async function answerOf(
  file: LiveFile,
  { playbackId, request, others }: { playbackId: string; request: Request; others: Relay | undefined },
): Promise<Response> {
  const { signal } = request;
  const query = new URLSearchParams();
  const own = file.answer(playbackId, { signal });
  const made = own ?? others?.serve({ playbackId, file: file.name, query, signal });
  const answer = await (made ?? Promise.reject(notOn()));
  const etag = answer.headers.get('etag')?.slice(1, -1);
  if (answer.status !== 200 || etag === undefined) return answer;
  // Other nodes are not told what the client has: one answer of theirs is for many.
  if (preconditions(request.headers, { etag }) !== 'unchanged') return answer;
  const headers = new Headers(answer.headers);
  headers.delete('content-type');
  return new Response(null, { status: 304, headers });
}
