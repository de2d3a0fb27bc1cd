import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { Fault } from '../../core/fault.ts';
import { says } from '../../core/http.ts';
import { json, storeFaults } from '../../core/operation.ts';
import { definePlugin } from '../../core/plugin.ts';
import { openly, preflight, saysPreflight } from '../../core/public-access.ts';
import { playables, playbackSchema } from './contract.ts';

/** `GET /api/playback/{id}`: where and how something can be watched, for everyone. */
export default definePlugin({
  id: 'playback',
  summary: 'playback info',
  faults: {
    'playback.not_found': { status: 404, meaning: 'There is nothing to watch under this id.' },
  },
  routes(kit) {
    const known = kit.offered(playables);
    const find = async (id: string): Promise<Response> => {
      for (const playable of known) {
        const info = await playable.find(id);
        if (info) return Response.json(info, { headers: { 'cache-control': 'no-cache' } });
      }
      throw new Fault('playback.not_found', {
        status: 404,
        message: `There is nothing to watch under the id ${id}.`,
      });
    };
    return new Elysia()
      .get(
        '/api/playback/:id',
        ({ params }) => openly(() => find(params.id)),
        says('Where a playback id, session or asset can be watched. No key is needed.', {
          name: 'getPlayback',
          isOpen: true,
          isOnEveryNode: true,
          path: { id: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
          answers: { 200: json(playbackSchema, 'How it is watched.') },
          faults: ['playback.not_found', ...storeFaults],
        }),
      )
      .options('/api/playback/*', preflight, saysPreflight('preflightPlayback'));
  },
});
