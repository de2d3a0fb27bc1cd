import { type AnyElysia, Elysia } from 'elysia';
import { services } from '../../../core/plugin/services.ts';
import { liveFiles } from '../contract.ts';
import type { StreamsKit } from '../kit.ts';
import { liveResponse } from '../live-answer.ts';
import { notOn } from '../not-on.ts';
import { viewerIdLength } from '../viewer.ts';
import { relayLimits } from './limits.ts';

/** Ids of viewers on whose behalf a node asks, one behind the other. */
export const viewersHeader = 'x-millrace-viewers';
const longest = viewerIdLength * relayLimits.viewersTold.value;

export function internalPath(playbackId: string, file: string, search: string): string {
  return `/internal/hls/${playbackId}/${file}${search}`;
}

/**
 * What this node has of a playlist, for other nodes: like `/hls/…`, but whoever does not have it says so at once and
 * asks nobody else, so no request goes in circles.
 */
export function internalHls(kit: Pick<StreamsKit, 'use' | 'offered'>): AnyElysia {
  const beside = new Map(kit.offered(liveFiles).map((one) => [one.name, one]));
  return new Elysia().get('/internal/hls/:playbackId/*', async ({ params, request }) => {
    const viewers = viewersIn(request.headers.get(viewersHeader) ?? '');
    const { playbackId, '*': file } = params;
    const { signal } = request;
    const made = beside.get(file);
    if (made) return made.answer(playbackId, { signal }) ?? Promise.reject(notOn());
    const query = new URL(request.url).searchParams;
    const served = kit.use(services.media).serve({ playbackId, file, query, signal, viewers });
    if (!served) throw notOn();
    return liveResponse(await served);
  });
}

function viewersIn(text: string): string[] {
  return text.slice(0, longest).match(new RegExp(`.{${viewerIdLength}}`, 'g')) ?? [];
}
