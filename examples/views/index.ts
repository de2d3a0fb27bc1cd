import type { Caller, Kit } from 'millrace/plugin';
import {
  authenticator,
  commands,
  definePlugin,
  Elysia,
  faultMaker,
  faultsOf,
  idSchema,
  json,
  keyedRoutes,
  object,
  offer,
  playables,
  says,
  services,
  stream,
  streams,
  Type,
  unlessRefused,
} from 'millrace/plugin';
import { viewsCommand } from './command.ts';
import { viewsOf } from './rows.ts';
import { config, ViewerCount } from './viewer-count.ts';

/** By process, once the plugin has started: viewers may come before. */
const counts = new WeakMap<object, ViewerCount>();

const meaning = 'There is no video of this playback id in your account.';
const faults = faultsOf(404, { 'views.not_found': meaning });
const notFound = faultMaker(faults)('views.not_found', meaning);
const viewCount = Type.Integer({ description: 'Sessions of viewers.' });
const watchTime = Type.Integer({ description: 'Of all sessions, seconds.' });
const answer = object({ playbackId: Type.String(), viewCount, watchTime }, { $id: 'Views' });

/** Counts sessions and watch time of viewers, by the playlists and segments that they fetch. */
export default definePlugin({
  id: 'views',
  summary: 'counts viewers and watch time of each video',
  contract: 3,
  config,
  needs: [authenticator, streams, services.volatile],
  faults,
  decides: {
    // It refuses nothing: it only sees what viewers fetch.
    play(question, kit) {
      if (question.what === 'playlist' || question.what === 'media')
        counts.get(kit.deployment)?.saw(question);
      return undefined;
    },
  },
  derives: [
    {
      resource: stream,
      schemas: { viewCount },
      async of({ playbackId, parentId }, { kit }) {
        if (typeof playbackId !== 'string' || parentId !== undefined) return undefined;
        return { values: { viewCount: (await viewsOf(playbackId, kit)).views.sessions } };
      },
    },
  ],
  offers: [offer(commands, () => viewsCommand)],
  start(kit) {
    const count = new ViewerCount(kit);
    counts.set(kit.deployment, count);
    return count.start();
  },
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    return new Elysia().get(
      '/api/data/views/:playbackId',
      keyed(async ({ request, params: { playbackId = '' }, principal }) => {
        const { account, views } = await viewsOf(playbackId, kit);
        const owner =
          account ?? (await ownerOf(playbackId, { offered: kit.offered, caller: kit.caller(request) }));
        if (owner !== principal.accountId) throw notFound;
        const watchTime = Math.round(views.watchMs / 1000);
        return Response.json({ playbackId, viewCount: views.sessions, watchTime });
      }),
      says('Viewers and watch time of a video.', {
        name: 'getViews',
        path: { playbackId: idSchema },
        answers: { 200: json(answer, 'The counts.') },
        faults: ['views.not_found'],
      }),
    );
  },
});

/** The account of a video that nobody has watched yet. */
async function ownerOf(id: string, { offered, caller }: { offered: Kit['offered']; caller: Caller }) {
  for (const playable of offered(playables)) {
    const found = await playable.find(id, caller).catch(unlessRefused);
    if (found) return found.subject?.account;
  }
  return undefined;
}
