import { type TSchema, Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../../core/base/fault.ts';
import { says } from '../../../core/http/http.ts';
import { type Answer, idSchema, nothing, type Operation, storeFaults } from '../../../core/http/operation.ts';
import type { AssetsKit } from '../config.ts';
import { intakeFaults, storingFaults, tryFaults } from '../uploads/faults.ts';
import { uploading } from '../uploads/uploading.ts';
import { signedQuery, type UploadUrls } from '../uploads/url.ts';
import { askedElsewhere } from './elsewhere.ts';
import { invalid } from './faults.ts';
import { asTus, checkVersion, creationOf, methodOf, offsetOf, optionsAnswer } from './protocol.ts';
import type { Place, TusState } from './uploads.ts';

/** `/upload/{assetId}/tus`: tus 1.0.0 for everyone who has the URL, and below it the uploads that were created with it. */
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
    // An empty file gets no PATCH: it is finished now.
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
    const path = `/internal/upload/${at.assetId}/tus/${at.uploadId}`;
    return askedElsewhere({ node: place.node, path }, { request, method, kit });
  };
  const upload = ({ request, params }: { request: Request; params: Place }) =>
    asTus(request.method, () => asked(request, params));
  // Elysia would read the whole body, depending on its content type.
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

/** The same for other nodes, which have checked the URL. The uploads are on this node. */
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

const header = (example: string, description = ''): TSchema =>
  Type.String({ examples: [example], ...(description !== '' && { description }) });
const required = (schema: TSchema): TSchema => ({ ...schema, isRequired: true });
const resumable = required(header('1.0.0', 'Version of tus.'));
const offset = header('7340032', 'Bytes that have come.');
const bytes = ['application/offset+octet-stream'];
const state = { 'Upload-Offset': offset, 'Upload-Expires': header('Thu, 01 Jan 2026 12:00:00 GMT') };

const open: Open = { isOpen: true, path: { assetId: idSchema } };
const one: Open = {
  isOpen: true,
  path: { assetId: idSchema, uploadId: idSchema },
  query: { node: Type.String({ isRequired: true, examples: ['local'] }), ...signedQuery },
};
type Open = Pick<Operation, 'isOpen' | 'path' | 'query'>;
const ofAll = [
  ...['upload.altered', 'upload.revoked', 'upload.wrong_version', 'upload.invalid', 'asset.not_found'],
  ...storeFaults,
];
const ofOne = [...ofAll, 'upload.ended', 'upload.not_found', 'upload.locked', 'node.unreachable'];
const ofBytes = [
  ...[...tryFaults, 'upload.wrong_type', 'upload.interrupted', 'intake.beyond'],
  ...[...intakeFaults, ...storingFaults],
];
const ofPatch = [...ofOne, ...ofBytes, 'upload.wrong_offset', 'upload.length_required'];
const done = (description: string): Answer => ({ description, headers: state });

/** The OpenAPI descriptions of these routes. */
const said = {
  endpointOptions: says(
    'Tells what of tus is supported, and a browser that pages of every origin may upload here.',
    {
      ...{ ...open, name: 'tusOptions', answers: { 204: nothing } },
    },
  ),
  uploadOptions: says('The same of one upload.', {
    ...{ isOpen: true as const, name: 'tusUploadOptions', path: one.path, answers: { 204: nothing } },
  }),
  create: says('Creates a tus upload; the body may have its first bytes. 201 with its URL in `Location`.', {
    ...{ ...open, name: 'createTusUpload', query: signedQuery, file: bytes },
    headers: {
      ...{ 'Tus-Resumable': resumable, 'Upload-Length': required(header('104857600', 'Bytes of the file.')) },
      'Upload-Metadata': header(
        'filename ZmlsbS5tcDQ=',
        'Stored, and shown by HEAD; nothing else comes of it.',
      ),
    },
    answers: {
      201: {
        description: 'Begun.',
        headers: { Location: header('https://video.example.com/upload/…'), ...state },
      },
    },
    faults: [...ofAll, ...ofBytes, 'upload.expired', 'upload.locked', 'upload.not_found', 'intake.too_large'],
  }),
  state: says('How much of a tus upload has come. What still comes of it is ended.', {
    ...{ ...one, name: 'stateOfTusUpload', headers: { 'Tus-Resumable': resumable } },
    answers: {
      200: {
        description: 'How much has come; when it is all, the asset is ready.',
        headers: {
          ...state,
          'Upload-Length': header('104857600'),
          'Upload-Metadata': header('filename ZmlsbS5tcDQ='),
        },
      },
    },
    faults: [
      ...ofOne,
      'upload.accepted',
      'upload.cancelled',
      'upload.busy',
      'upload.refused',
      'upload.not_allowed',
      'decision.unavailable',
    ],
  }),
  append: says('Appends bytes to a tus upload. After the last byte, the file is accepted or refused.', {
    ...{ ...one, name: 'appendToTusUpload', file: bytes },
    headers: { 'Tus-Resumable': resumable, 'Upload-Offset': required(offset) },
    answers: { 204: done('They are kept, whatever happens. When they are all, the asset is ready.') },
    faults: ofPatch,
  }),
  terminate: says('Terminates a tus upload and deletes its bytes. 204.', {
    ...{ ...one, name: 'terminateTusUpload', headers: { 'Tus-Resumable': resumable } },
    answers: { 204: nothing },
    faults: [...ofOne, 'upload.accepted'],
  }),
  override: says('For clients that can only send POST: runs the method in `X-HTTP-Method-Override`.', {
    ...{ ...one, name: 'overrideTusUpload', file: bytes },
    headers: {
      ...{ 'Tus-Resumable': resumable, 'Upload-Offset': offset },
      'X-HTTP-Method-Override': required(header('PATCH')),
    },
    answers: { 200: done('As HEAD.'), 204: done('As PATCH or DELETE.') },
    faults: [...ofPatch, 'route.method_not_allowed'],
  }),
};
