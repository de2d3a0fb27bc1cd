import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../../core/base/fault.ts';
import type { AssetsKit } from '../config.ts';
import { uploading } from '../uploads/uploading.ts';
import type { UploadUrls } from '../uploads/url.ts';
import { askedElsewhere } from './elsewhere.ts';
import { invalid } from './faults.ts';
import { said } from './operations.ts';
import { asTus, checkVersion, creationOf, methodOf, offsetOf, optionsAnswer } from './protocol.ts';
import type { Place, TusState } from './uploads.ts';

/** `/upload/{assetId}/tus`: tus 1.0.0 for whoever has the URL, and below it the uploads that it made. */
export function tusRoutes(kit: AssetsKit, { urls }: { urls: UploadUrls }): AnyElysia {
  const { tus } = kit.use(uploading);
  const options = () => optionsAnswer(tus.most);
  const { id: node } = kit.deployment.node;

  const created = async (request: Request, assetId: string): Promise<Response> => {
    checkVersion(request);
    const { expires, keyId } = await urls.check({ what: 'TUS', assetId }, new URL(request.url).searchParams);
    const { hasBytes, ...creation } = creationOf(request);
    const begun = await tus.create({ assetId, ...creation, expires });
    const { uploadId } = begun;
    const at = { assetId, uploadId };
    const location = await urls.make(
      { what: 'TUS upload', ...at, node },
      { expires, keyId, caller: kit.caller(request) },
    );
    // Nothing more will come of an empty one: it is seen to now.
    const isWhole = creation.size === 0;
    const now = hasBytes || isWhole ? await tus.append(at, { request, offset: 0 }) : begun;
    return new Response(null, { status: 201, headers: { location, ...headersOf(now) } });
  };

  const asked = async (request: Request, at: Place): Promise<Response> => {
    const method = methodOf(request);
    checkVersion(request);
    const query = new URL(request.url).searchParams;
    const place = { ...at, node: query.get('node') ?? '' };
    await urls.check({ what: 'TUS upload', ...place }, query);
    if (!isOwn(method))
      throw method === 'POST' ? noPost : invalid('X-HTTP-Method-Override: expected HEAD, PATCH or DELETE.');
    if (place.node === node) return answered(kit, { request, method, at });
    return askedElsewhere(place, { request, method, kit });
  };
  const upload = ({ request, params }: { request: Request; params: Place }) =>
    asTus(request.method, () => asked(request, params));
  // Elysia would read a body whole, by what its type claims to be.
  const parse = 'none';

  return new Elysia()
    .options(endpoint, options, said.endpointOptions)
    .options(below, options, said.uploadOptions)
    .post(endpoint, ({ request, params }) => asTus('POST', () => created(request, params.assetId)), {
      parse,
      ...said.create,
    })
    .head(below, upload, said.state)
    .patch(below, upload, { parse, ...said.append })
    .delete(below, upload, said.terminate)
    .post(below, upload, { parse, ...said.override });
}

/** The same for other nodes, which have checked the URL: the uploads are on this one. */
export function tusNodeRoutes(kit: AssetsKit): AnyElysia {
  const asked = ({ request, params }: { request: Request; params: Place }) =>
    asTus(request.method, () => answered(kit, { request, method: request.method as Method, at: params }));
  const at = '/internal/upload/:assetId/tus/:uploadId';
  return new Elysia()
    .head(at, asked, said.state)
    .patch(at, asked, { parse: 'none', ...said.append })
    .delete(at, asked, said.terminate);
}

async function answered(
  kit: AssetsKit,
  { request, method, at }: { request: Request; method: Method; at: Place },
): Promise<Response> {
  const { tus } = kit.use(uploading);
  if (method === 'DELETE') {
    await tus.terminate(at);
    return new Response(null, { status: 204 });
  }
  if (method === 'PATCH') {
    const state = await tus.append(at, { request, offset: offsetOf(request) });
    return new Response(null, { status: 204, headers: headersOf(state) });
  }
  const state = await tus.state(at, request);
  const { size, metadata } = state;
  return new Response(null, {
    headers: {
      ...headersOf(state),
      'upload-length': String(size),
      ...(metadata !== '' && { 'upload-metadata': metadata }),
    },
  });
}

type Method = 'HEAD' | 'PATCH' | 'DELETE';

function isOwn(method: string): method is Method {
  return method === 'HEAD' || method === 'PATCH' || method === 'DELETE';
}

function headersOf({ offset, expires }: TusState): Record<string, string> {
  return {
    'upload-offset': String(offset),
    ...(expires !== undefined && { 'upload-expires': new Date(expires).toUTCString() }),
  };
}

const endpoint = '/upload/:assetId/tus';
const below = '/upload/:assetId/tus/:uploadId';

const noPost = new Fault('route.method_not_allowed', {
  status: 405,
  message: 'POST is not allowed here without X-HTTP-Method-Override. Allowed: DELETE, HEAD, PATCH.',
});
