import { type ImageKit, imageNeeds, imageRoutes } from '../../plugins/mux-compat/images.ts';
import {
  definePlugin,
  Elysia,
  type Kit,
  nothing,
  openly,
  playableFinder,
  playables,
  says,
  Type,
} from '../../sdk/plugin.ts';

/** What the player of Mux asks for and nothing else: the pictures, and a redirect to the playlist. */
export default definePlugin({
  id: 'player-of-mux',
  contract: 3,
  summary: 'what the player of Mux asks for',
  config: Type.Object({ hosts: Type.Record(Type.String(), Type.String(), { default: {} }) }),
  needs: [...imageNeeds],
  hosts: ({ hosts }) => hosts,
  routes: (kit: Kit) =>
    new Elysia().use(imageRoutes(kit as ImageKit, { base: '/mux/image' })).get(
      '/mux/stream/:file',
      ({ request, params }) => openly(() => toPlaylist(request, { file: params.file, kit })),
      says('Where the playlist of a video is.', {
        name: 'getMuxPlaylist',
        isOpen: true,
        path: { file: Type.String({ examples: ['6pukxh2m0ydr9h3q.m3u8'] }) },
        query: { token: Type.String({ examples: ['eyJ…'] }) },
        answers: { 302: { ...nothing, description: 'At its playlist.' } },
        faults: ['playback.not_ready', 'playback.failed'],
      }),
    ),
});

async function toPlaylist(request: Request, { file, kit }: { file: string; kit: Kit }): Promise<Response> {
  const caller = kit.caller(request);
  const [id = ''] = file.split('.');
  const found = await playableFinder(kit.offered(playables))(id, caller);
  const folder = found?.type === 'live' ? 'hls' : 'asset';
  const location = `${caller.baseUrl}/${folder}/${id}/index.m3u8${new URL(request.url).search}`;
  return new Response(null, { status: 302, headers: { location } });
}
