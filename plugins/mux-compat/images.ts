import {
  type AnyElysia,
  assets,
  Elysia,
  Fault,
  films,
  gateFaults,
  invalidQuery,
  type Kit,
  object,
  openly,
  type PlaySubject,
  playGate,
  preflight,
  says,
  saysPreflight,
  storeFaults,
  streams,
  Type,
} from '../../sdk/plugin.ts';
import { policyIn } from './delivery.ts';
import { furtherPolicy, subjectFinder } from './playback-ids.ts';
import { storyboardJson, tilesIn, withSheet } from './storyboard.ts';

/** Tokens that `imageRoutes` uses. */
export const imageNeeds = [assets, films] as const;

/**
 * Pictures at the paths of Mux's image host: `{base}/{playbackId}/thumbnail.webp` and so on. Thumbnails, animations and sheets are
 * redirected to the picture of the stream or asset. Who may see them is decided there; here a token must only be of the right kind.
 */
export function imageRoutes(kit: ImageKit, { base }: { readonly base: string }): AnyElysia {
  const find = finder(kit);
  const cues = storyboards(kit, { base });
  const answer = async (request: Request, { id, file }: { id: string; file: string }): Promise<Response> => {
    const [, name = '', ending = ''] = /^([a-z]+)\.([a-z]+)$/.exec(file) ?? [];
    const picture = Object.hasOwn(pictures, name) ? pictures[name as PictureName] : undefined;
    if (!picture?.endings.includes(ending)) throw noPicture;
    const asked = askedOf(request, picture.audience);
    const subject = await find(id, { request, token: asked.token });
    if (!subject) throw noPicture;
    if (name === 'storyboard' && (ending === 'vtt' || ending === 'json'))
      return cues(request, { id, ending, subject, token: asked.token });
    const at = pathOf(subject);
    if (at === undefined || (name !== 'thumbnail' && subject.kind === 'live')) throw noPicture;
    const query = picture.query(asked.parameters, { duration: await durationOf(subject, kit) });
    if (asked.token !== undefined) query.set('token', asked.token);
    const text = query.size > 0 ? `?${query}` : '';
    const target = `${at}/${name === 'storyboard' ? 'storyboard.jpg' : file}${text}`;
    return new Response(null, {
      status: 302,
      headers: {
        location: `${kit.caller(request).baseUrl}${target}`,
        'cache-control': asked.token === undefined ? `public, max-age=${redirectAge}` : 'private, no-store',
      },
    });
  };
  return new Elysia()
    .get(
      `${base}/:id/:file`,
      ({ request, params }: { request: Request; params: { id: string; file: string } }) =>
        openly(() => answer(request, params), { request, kit }),
      says(summary, {
        name: 'getMuxImage',
        isOpen: true,
        path: {
          id: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }),
          file: Type.String({ examples: ['thumbnail.webp'] }),
        },
        query: parameters,
        answers: {
          200: {
            description: 'A storyboard: when each picture is shown, and where it is on the sheet.',
            content: { 'text/vtt': Type.String(), 'application/json': storyboardSchema },
          },
          302: { description: 'Where the picture is.', headers: { Location: Type.String() } },
          304: { description: 'The storyboard has not changed.' },
        },
        faults: [
          ...[...gateFaults, 'mux.no_picture', 'query.invalid', 'playback.not_ready', 'playback.failed'],
          ...['still.none', 'still.unavailable', 'still.busy', 'still.failed', 'file.gone', 'file.changed'],
          ...['server.busy', ...storeFaults],
        ],
      }),
    )
    .options(`${base}/*`, preflight, saysPreflight('preflightMuxImage'));
}

const summary =
  'A picture of a stream or an asset: `thumbnail.jpg|png|webp`, `animated.gif|webp`, `storyboard.vtt|json|jpg|png|webp`.';

type ImageKit = Pick<Kit, 'caller' | 'clock' | 'decide' | 'errors' | 'log' | 'offered' | 'resources' | 'use'>;

/** Error codes of these routes. */
export const imageFaults = {
  'mux.no_picture': {
    status: 404,
    meaning: 'There is no picture of this name, or nothing with this playback id.',
  },
};

/** Seconds for which caches may keep where a picture is. */
const redirectAge = 60;

/** What a playback id shows. Fault `playback.refused` (403) where it is signed, and there is no token. */
function finder(kit: ImageKit) {
  const find = subjectFinder(kit);
  return async (id: string, { request, token }: { request: Request; token: string | undefined }) => {
    const subject = await find(id, request);
    const policy = subject && (await policyOf(id, { subject, kit }));
    if (policy === 'signed' && token === undefined) throw noToken;
    return policy && subject;
  };
}

/** Undefined: the playback id was deleted, although it is still the own one of the stream or asset. */
async function policyOf(id: string, { subject, kit }: { subject: PlaySubject; kit: ImageKit }) {
  const { kind, playbackId = '', streamId, assetId } = subject;
  const further = await furtherPolicy(id, { subject, kit });
  if (further) return further;
  const known =
    kind === 'live'
      ? await kit.use(streams).current(streamId ?? '')
      : await kit.use(assets).find(assetId ?? '');
  return known && policyIn(known.fields, playbackId);
}

function pathOf({ kind, playbackId, sessionId }: PlaySubject): string | undefined {
  if (kind === 'recording') return sessionId && `/recordings/${sessionId}`;
  return playbackId && `/${kind === 'live' ? 'hls' : 'asset'}/${playbackId}`;
}

async function durationOf({ assetId }: PlaySubject, kit: ImageKit): Promise<number | undefined> {
  return assetId === undefined ? undefined : (await kit.use(assets).find(assetId))?.file?.spec.duration;
}

/** `storyboard.vtt` and `storyboard.json`. Their sheet is named by its whole address, with the token of the viewer. */
function storyboards(kit: ImageKit, { base }: { base: string }) {
  const gate = playGate(kit);
  return async (request: Request, { id, ending, subject, token }: AskedStoryboard): Promise<Response> => {
    const { assetId, account, playbackId, sessionId } = subject;
    const name = 'storyboard.vtt';
    const terms = await gate?.admit(request, { ...subject, what: 'image', file: name });
    const file = assetId === undefined ? undefined : (await kit.use(assets).find(assetId))?.file;
    if (!file || assetId === undefined || playbackId === undefined) throw noPicture;
    const identity = { assetId, account, playbackId, ...(sessionId !== undefined && { sessionId }) };
    const made = await kit.use(films).answer({ ...file, identity }, { name, request });
    if (!made) throw noPicture;
    const headers = new Headers(made.headers);
    if (gate && !terms?.isForAll) headers.set('cache-control', 'private, no-store');
    if (made.status !== 200) return new Response(null, { status: made.status, headers });
    const query = token === undefined ? '' : `?${new URLSearchParams({ token })}`;
    const sheet = `${addressOf(request, { base, kit })}/${encodeURIComponent(id)}/storyboard.jpg${query}`;
    const vtt = await made.text();
    if (ending === 'vtt') return new Response(withSheet(vtt, sheet), { headers });
    headers.set('content-type', 'application/json');
    return new Response(JSON.stringify(storyboardJson(tilesIn(vtt), sheet)), { headers });
  };
}

interface AskedStoryboard {
  readonly id: string;
  readonly ending: 'vtt' | 'json';
  readonly subject: PlaySubject;
  readonly token: string | undefined;
}

/** Where these routes are for this client: at a host of their own, or below the address of the server. */
function addressOf(request: Request, { base, kit }: { base: string; kit: ImageKit }): string {
  return `${kit.caller(request).baseUrl}${base}`;
}

interface Asked {
  readonly token: string | undefined;
  readonly parameters: URLSearchParams;
}

/**
 * The parameters of a request. Those of a signed one are claims of its token, so that its viewer cannot ask for anything else. Fault
 * `playback.refused` (403) for a token of another audience: `v` is for video, `t` for thumbnails, `g` for animations, `s` for
 * storyboards. Whether a token is right is decided where the picture is.
 */
function askedOf({ url }: Request, audience: string): Asked {
  const parameters = new URL(url).searchParams;
  const token = parameters.get('token') ?? undefined;
  const claims = token === undefined ? undefined : claimsIn(token);
  if (!claims || typeof claims.aud !== 'string' || !/^[a-z]$/.test(claims.aud)) return { token, parameters };
  if (claims.aud !== audience) throw otherAudience;
  const signed = Object.keys(parameterNames).flatMap((name) => {
    const value = claims[name];
    return typeof value === 'number' || typeof value === 'string' ? [[name, `${value}`]] : [];
  });
  return { token, parameters: new URLSearchParams(signed) };
}

/** Characters of a token that is looked into. */
const longestToken = 4096;

/** What a JWT says, unchecked. */
function claimsIn(token: string): Readonly<Record<string, unknown>> | undefined {
  if (token.length > longestToken) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

interface Picture {
  readonly endings: readonly string[];
  readonly audience: string;
  /** The query of the picture that it is here. */
  query(asked: URLSearchParams, film: { readonly duration: number | undefined }): URLSearchParams;
}

/** Sides of pictures, pixels. */
const sides = { least: 16, thumbnail: 1920, animated: 640 };

const pictures: Readonly<Record<PictureName, Picture>> = {
  thumbnail: {
    endings: ['jpg', 'png', 'webp'],
    audience: 't',
    query(asked, { duration }) {
      if (duration === undefined) return new URLSearchParams();
      const time = numberOf(asked, 'time') ?? duration / 2;
      return new URLSearchParams({ time: decimal(time), ...sizeOf(asked, sides.thumbnail) });
    },
  },
  animated: {
    endings: ['gif', 'webp'],
    audience: 'g',
    query(asked) {
      const start = numberOf(asked, 'start') ?? 0;
      const length = Math.min(10, Math.max(0.25, (numberOf(asked, 'end') ?? start + 5) - start));
      const fps = Math.min(30, Math.max(1, numberOf(asked, 'fps') ?? 15));
      return new URLSearchParams({
        ...{ start: decimal(start), end: decimal(start + length), fps: decimal(fps) },
        ...sizeOf(asked, sides.animated),
      });
    },
  },
  storyboard: {
    endings: ['vtt', 'json', 'jpg', 'png', 'webp'],
    audience: 's',
    query: () => new URLSearchParams(),
  },
};
type PictureName = 'thumbnail' | 'animated' | 'storyboard';

/** What is too small or too large is made to fit. */
function sizeOf(asked: URLSearchParams, most: number): Record<string, string> {
  const found = ['width', 'height'].flatMap((name) => {
    const side = numberOf(asked, name);
    return side === undefined
      ? []
      : [[name, String(Math.round(Math.min(most, Math.max(sides.least, side))))]];
  });
  return Object.fromEntries(found);
}

/** Fault `query.invalid` (422). */
function numberOf(asked: URLSearchParams, name: string): number | undefined {
  const text = asked.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,10}(\.\d{1,10})?$/.test(text)) throw invalidQuery(`${name}: expected a number, such as 12`);
  return Number(text);
}

function decimal(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}

const parameterNames = {
  time: 'Of a thumbnail: the moment in seconds. Default: the middle of the film.',
  width: 'Pixels that the picture must fit into. Its shape is kept, and it is never enlarged.',
  height: 'The same for its height.',
  start: 'Of an animation: where it begins, in seconds. Default: 0.',
  end: 'And where it ends, at most 10 s later. Default: 5 s later.',
  fps: 'Pictures a second, at most 30. Default: 15.',
};
const parameters = {
  ...Object.fromEntries(
    Object.entries(parameterNames).map(([name, description]) => [
      name,
      Type.Number({ minimum: 0, description, examples: [3] }),
    ]),
  ),
  token: Type.String({
    description:
      'For what is signed: a JWT with `aud` `t` for thumbnails, `g` for animations, `s` for storyboards. The other parameters are then claims of it.',
    examples: ['eyJ…'],
  }),
};

const storyboardSchema = object({
  url: Type.String({ description: 'The sheet with all pictures.' }),
  tile_width: Type.Integer({ description: 'Pixels of one picture.' }),
  tile_height: Type.Integer(),
  duration: Type.Number({ description: 'Seconds.' }),
  tiles: Type.Array(
    object({
      start: Type.Number({ description: 'When it is shown, in seconds.' }),
      x: Type.Integer({ description: 'Where it is on the sheet, in pixels.' }),
      y: Type.Integer(),
    }),
  ),
});

const noPicture = new Fault('mux.no_picture', {
  status: 404,
  message:
    'There is no picture of this name here. Expected, for example, thumbnail.webp below a playback id.',
});
const noToken = new Fault('playback.refused', {
  status: 403,
  message: 'This playback id needs a token.',
});
const otherAudience = new Fault('playback.refused', {
  status: 403,
  message: 'The token is for something else (aud).',
});
