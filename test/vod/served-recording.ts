import { httpCore } from '../../core/http/http.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import { vod } from '../../core/vod/answer.ts';
import { type AssetFile, films } from '../../plugins/assets/contract.ts';
import { playbackRoutes } from '../../plugins/recordings/playback.ts';
import { assetIdOf } from '../../plugins/recordings/recording.ts';
import { silentLog } from '../kit/silent-log.ts';
import { filmPageFile } from './film-page.ts';

export interface ServedRecording extends AsyncDisposable {
  /** Of its playlists and files, without a slash at the end. */
  readonly base: string;
  /** Where `openFilm` finds its page. */
  readonly page: string;
}

/** A recording that lies in `blobs`, behind the real routes, with the page of players beside them. */
export function serveRecording(
  sessionId: string,
  { blobs, file }: { readonly blobs: Blobs; readonly file: AssetFile },
): ServedRecording {
  const asset = { status: 'ready', account: 'a', playbackId: 'p', file };
  const find = async (asked: string) => (asked === assetIdOf(sessionId) ? asset : undefined);
  const made = vod({ blobs, bytes: 64 * 1_048_576 });
  const kit = {
    deployment: { publicUrl: 'http://127.0.0.1' },
    use: (token: { id: string }) => (token.id === films.id ? made : { find }),
    offered: () => [],
    decide: {},
  };
  const app = httpCore({ log: silentLog, routes: [playbackRoutes(kit as never)] });
  const server = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1', development: false },
    fetch: (request) => filmPageFile(new URL(request.url).pathname) ?? app.fetch(request),
  });
  return {
    base: `http://127.0.0.1:${server.port}/recordings/${sessionId}`,
    page: `${server.url}film`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
