import { type AnyElysia, Elysia } from 'elysia';
import { services } from '../../../core/plugin/services.ts';
import type { StreamsKit } from '../config.ts';
import { liveFiles } from '../contract.ts';
import { notLive } from '../faults.ts';
import { liveResponse } from '../live-answer.ts';
import { maxViewersReported, viewerIdLength } from '../viewer.ts';

/** Ids of viewers for whom a node asks, joined. */
export const viewersHeader = 'x-millrace-viewers';

/** @param what playback id, file and query, as behind `/hls/` */
export function internalPath(what: string): string {
  return `/internal/hls/${what}`;
}

/** The playlists of this node, for other nodes: like `/hls/…`, but asks no further node, so no request goes in circles. */
export function internalHls(kit: Pick<StreamsKit, 'use' | 'offered'>): AnyElysia {
  const beside = new Map(kit.offered(liveFiles).map((one) => [one.name, one]));
  return new Elysia().get('/internal/hls/:playbackId/*', async ({ params, request }) => {
    const { playbackId, '*': file } = params;
    const { signal } = request;
    const made = beside.get(file);
    if (made) return made.answer(playbackId, { signal }) ?? Promise.reject(notLive());
    const viewers = viewersIn(request.headers.get(viewersHeader) ?? '');
    const query = new URL(request.url).searchParams;
    const served = kit.use(services.media).serve({ playbackId, file, query, signal, viewers });
    if (!served) throw notLive();
    return liveResponse(await served);
  });
}

function viewersIn(text: string): string[] {
  const ids = text.slice(0, viewerIdLength * maxViewersReported);
  return ids.match(new RegExp(`.{${viewerIdLength}}`, 'g')) ?? [];
}
