import type { NewStream } from '../../e2e/harness/api.ts';
import type { Events } from '../../e2e/harness/events.ts';
import type { Server } from '../../e2e/harness/server.ts';
import type { Verdict } from './verdict.ts';

/** A recording that is ready. */
export interface Recording {
  readonly sessionId: string;
  readonly recordingUrl: string;
  readonly mp4Url: string;
  readonly asset: {
    readonly id: string;
    readonly size: number;
    readonly downloadUrl: string;
    readonly hash: readonly { hash: string; algorithm: string }[];
    readonly videoSpec: { readonly duration: number };
  };
}

/** What `npm start` sets, too. */
export const asStarted = { MIMALLOC_PURGE_DELAY: '10000', MIMALLOC_PURGE_HOLES: '0' };

/** Of a stream that has one session, whose recording was just made: that it is one session, one asset. */
export async function readRecording(
  payload: Record<string, string>,
  { server, stream, on }: { server: Server; stream: NewStream; on: Verdict },
): Promise<Recording> {
  const read = async (path: string) => (await server.api.request('GET', path)).json();
  const sessions = await server.api.listSessions(stream.id);
  on.check('sessions of the stream', {
    ...{ figure: String(sessions.length), must: '1', isSo: sessions.length === 1 },
  });
  const [{ id: sessionId } = { id: '' }] = sessions;
  const assets = (await read('/api/asset?limit=1000')).filter(
    ({ source }: { source: { sessionId?: string } }) => source.sessionId === sessionId,
  );
  on.check('assets of the session', {
    ...{ figure: String(assets.length), must: '1', isSo: assets.length === 1 },
  });
  const asset = await read(`/api/asset/${payload.assetId}`);
  on.check('recordingStatus, and the status of its asset', {
    figure: `${(await read(`/api/session/${sessionId}`)).recordingStatus}, ${asset.status}`,
    must: 'ready, ready',
    isSo: asset.status === 'ready',
  });
  return { sessionId, recordingUrl: payload.recordingUrl, mp4Url: payload.mp4Url, asset };
}

/** Resolves with the payload of `recording.ready`, and when it came (performance.now()). */
export async function expectReady(
  events: Events,
  { streamId, within }: { streamId: string; within: number },
): Promise<{ payload: Record<string, string>; at: number }> {
  const { payload } = await events.expect('recording.ready', { within, streamId });
  return { payload: payload as Record<string, string>, at: performance.now() };
}
