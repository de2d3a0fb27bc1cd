import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import type { Caller } from '../../core/http/caller.ts';
import { says } from '../../core/http/http.ts';
import { json, storeFaults } from '../../core/http/operation.ts';
import { gateFaults, playGate } from '../../core/http/play-gate.ts';
import { openly, preflight, saysPreflight } from '../../core/http/public-access.ts';
import { openLimit } from '../../core/http/request-limits.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import { findByName } from '../../core/vod/aliases.ts';
import { deploymentPolicy, type Policy, shownPolicy } from '../protection/contract.ts';
import {
  neverReady,
  notReady,
  type PlaybackInfo,
  playableFinder,
  playables,
  playbackAliases,
  playbackSchema,
} from './contract.ts';

const config = Type.Object({
  policy: Type.Union([Type.Literal('public'), Type.Literal('signed'), shownPolicy], {
    default: 'public',
    description:
      'Who may watch what has no `playbackPolicy` of its own, nor one of its account: "public", "signed", or an object as in the API. Only "public" without the plugin protection.',
  }),
});

function policyIn(policy: Static<typeof config>['policy']): Policy {
  return typeof policy === 'string' ? { type: policy } : policy;
}

/** `GET /api/playback/{id}`: where and how something can be watched, for everyone. */
export default definePlugin({
  id: 'playback',
  summary: 'playback info',
  config,
  offers: [
    offer(deploymentPolicy, (kit: { readonly config: Static<typeof config> }) => policyIn(kit.config.policy)),
  ],
  faults: {
    'playback.not_found': {
      status: 404,
      meaning: 'No stream, recording or asset with this id can be watched.',
    },
    [notReady.code]: {
      status: 404,
      meaning: 'The file of this asset or recording is not there yet. Ask again after `Retry-After`.',
    },
    [neverReady.code]: {
      status: 404,
      meaning: 'This asset has no file, because its upload, import or transcode failed.',
    },
  },
  routes(kit) {
    const gate = playGate(kit);
    const byName = findByName({ aliases: kit.offered(playbackAliases), clock: kit.clock });
    const find = playableFinder(kit.offered(playables));
    /** Of a session that is over; undefined where none was made, or it was deleted. */
    const recordingOf = async (id: string, caller: Caller): Promise<PlaybackInfo['meta']['recording']> => {
      try {
        return (await find(id, caller)) && { id, status: 'ready' };
      } catch (error) {
        if (error === notReady) return { id, status: 'waiting' };
        if (error === neverReady) return undefined;
        if (error instanceof Fault) throw error;
        kit.log.error('a recording could not be looked for', { error });
        return undefined;
      }
    };
    const answer = async (id: string, request: Request): Promise<Response> => {
      const caller = kit.caller(request);
      const found = await byName(id, (one) => find(one, caller));
      if (!found)
        throw new Fault('playback.not_found', {
          status: 404,
          message: `There is nothing to watch under the id ${id}.`,
        });
      const { subject, session, type, meta } = found;
      const terms = subject && (await gate?.admit(request, { ...subject, what: 'info', file: '' }));
      const recording = session === undefined ? undefined : await recordingOf(session, caller);
      const { source, ...rest } = meta;
      const info: PlaybackInfo = { type, meta: { ...rest, ...(recording && { recording }), source } };
      const answer = Response.json(info, { headers: { 'cache-control': 'no-cache' } });
      return gate && subject ? gate.seal(answer, terms) : answer;
    };
    const admit = openLimit(kit);
    return new Elysia()
      .get(
        '/api/playback/:id',
        ({ request, params }) =>
          openly(async () => {
            await admit(request);
            return answer(params.id, request);
          }),
        says('Where a playback id, session or asset can be watched. No key is needed.', {
          name: 'getPlayback',
          isOpen: true,
          isOnEveryNode: true,
          path: { id: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
          answers: { 200: json(playbackSchema, 'How it is watched.') },
          faults: [
            ...[
              ...gateFaults,
              'playback.not_found',
              notReady.code,
              neverReady.code,
              'server.busy',
              'rate.limited',
            ],
            ...storeFaults,
          ],
        }),
      )
      .options('/api/playback/*', preflight, saysPreflight('preflightPlayback'));
  },
});
