import {
  type AnyElysia,
  assets,
  Elysia,
  Fault,
  preflight,
  says,
  saysPreflight,
  storeFaults,
  streams,
  Type,
} from '../../sdk/plugin.ts';
import type { MuxKit } from './config.ts';
import { muxErrors } from './errors.ts';
import { furtherPolicy, playbackIdsOf, subjectFinder } from './playback-ids.ts';
import type { Policy } from './settings.ts';

/** `{path}/{playbackId}.m3u8` and the film as one file: where players of Mux look for them. */
export function deliveryRoutes(kit: MuxKit): AnyElysia {
  const { path: base } = kit.config;
  const playlist = delivery(kit, { live: 'index.m3u8', film: 'index.m3u8' });
  const film = delivery(kit, { film: 'source.mp4' });
  const said = (name: string) => ({
    name,
    isOpen: true as const,
    answers: { 302: { description: 'Where it is.', headers: { Location: Type.String() } } },
    query: { token: Type.String({ description: 'For signed playback ids: a JWT with `aud` `v`.' }) },
    faults: [
      ...['mux.refused', 'mux.not_found', 'mux.idle', 'playback.not_ready', 'playback.failed'],
      ...['server.busy', ...storeFaults],
    ],
  });
  const app = new Elysia()
    .get(
      `${base}/:id`,
      ({ request, params }: { request: Request; params: { id: string } }) => {
        const [, id] = /^([A-Za-z0-9-]{1,64})\.m3u8$/.exec(params.id) ?? [];
        return publicly(() => playlist(request, id));
      },
      says('Where the playlist of a playback id is: `{playbackId}.m3u8`.', {
        ...said('getMuxPlaylist'),
        path: { id: Type.String({ examples: ['6pukxh2m0ydr9h3q.m3u8'] }) },
      }),
    )
    .options(`${base}/:id`, preflight, saysPreflight('preflightMuxPlaylist'));
  for (const name of ['low', 'medium', 'high', 'highest', 'capped-1080p'])
    app.get(
      `${base}/:id/${name}.mp4`,
      ({ request, params }: { request: Request; params: { id: string } }) =>
        publicly(() => film(request, params.id)),
      says('Where the film of a playback id is as one file. There is one, in the size that it has.', {
        ...said(`getMux${name.replace(/\W/g, '')}Film`),
        path: { id: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
      }),
    );
  return app;
}

function delivery(kit: MuxKit, files: { readonly live?: string; readonly film: string }) {
  const find = subjectFinder(kit);
  return async (request: Request, id: string | undefined): Promise<Response> => {
    if (id === undefined) throw unknown();
    const known = await foundBy(id, { kit, find, request });
    if (!known) throw unknown();
    const { policy, isActive, folder, file } = known;
    const token = new URL(request.url).searchParams.get('token');
    if (policy === 'signed' && !token)
      throw new Fault('mux.refused', { status: 403, message: 'This playback id needs a token.' });
    if (!isActive)
      throw new Fault('mux.idle', { status: 412, message: 'The live stream is not on the air.' });
    const query = token ? `?${new URLSearchParams({ token })}` : '';
    return new Response(null, {
      status: 302,
      headers: {
        location: `${kit.caller(request).baseUrl}${folder}/${file}${query}`,
        'cache-control': 'no-store',
      },
    });
  };

  async function foundBy(id: string, of: Omit<Finding, 'files'>) {
    return found(id, { ...of, files });
  }
}

interface Finding {
  readonly kit: MuxKit;
  readonly find: ReturnType<typeof subjectFinder>;
  readonly request: Request;
  readonly files: { readonly live?: string; readonly film: string };
}

interface Found {
  readonly policy: Policy;
  readonly isActive: boolean;
  readonly folder: string;
  readonly file: string;
}

async function found(id: string, { kit, find, request, files }: Finding): Promise<Found | undefined> {
  const subject = await find(id, request);
  if (subject?.playbackId === undefined) return undefined;
  const { playbackId } = subject;
  const further = await furtherPolicy(id, { subject, kit });
  if (subject.kind === 'live') {
    const stream = await kit.use(streams).current(subject.streamId ?? '');
    const own = stream && policyIn(stream.fields, playbackId);
    const policy = further ?? own;
    if (!stream || policy === undefined || files.live === undefined) return undefined;
    return { policy, isActive: stream.isActive, folder: `/hls/${subject.playbackId}`, file: files.live };
  }
  const asset = await kit.use(assets).find(subject.assetId ?? '');
  const policy = further ?? (asset && policyIn(asset.fields, playbackId));
  if (policy === undefined) return undefined;
  return { policy, isActive: true, folder: `/asset/${subject.playbackId}`, file: files.film };
}

/** Of the own playback id of something; undefined where it was deleted. */
export function policyIn(fields: Readonly<Record<string, unknown>>, playbackId: string): Policy | undefined {
  const { playbackPolicy, mux } = fields as Pick<
    Parameters<typeof playbackIdsOf>[0],
    'playbackPolicy' | 'mux'
  >;
  const known = { playbackId, ...(playbackPolicy && { playbackPolicy }), ...(mux && { mux }) };
  return playbackIdsOf(known).find(({ id }) => id === playbackId)?.policy;
}

function unknown(): Fault {
  return new Fault('mux.not_found', {
    status: 404,
    message: 'There is nothing to play under this playback id.',
  });
}

/** For pages of every origin, refusals too. */
async function publicly(answer: () => Promise<Response>): Promise<Response> {
  const response = await answer().catch((error: unknown) => {
    if (error instanceof Fault) return muxErrors.answer(error);
    throw error;
  });
  response.headers.set('access-control-allow-origin', '*');
  if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
  return response;
}
