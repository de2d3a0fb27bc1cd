import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { base36 } from 'multiformats/bases/base36';
import { base58btc } from 'multiformats/bases/base58';
import { CID } from 'multiformats/cid';
import { oneOf } from '../../../core/base/schema.ts';
import { type AnsweredFile, fileAnswer, fileFaults } from '../../../core/http/file-answer.ts';
import { requestHeaders } from '../../../core/http/file-route.ts';
import { says } from '../../../core/http/http.ts';
import { type Answer, nothing, storeFaults, text } from '../../../core/http/operation.ts';
import { openly, preflight, saysPreflight } from '../../../core/http/public-access.ts';
import { assets } from '../../assets/contract.ts';
import type { ExportsKit } from '../config.ts';
import { ipfsFault } from './faults.ts';
import { mostCidCharacters } from './peer.ts';
import { findPublished, type Published } from './published.ts';

/**
 * `GET /ipfs/{cid}`: what the driver `local` packed, as the file it is or to be verified by whoever asks (IPFS HTTP gateway,
 * https://specs.ipfs.tech/http-gateways/path-gateway and …/trustless-gateway). Nothing is fetched from elsewhere.
 */
export function gatewayRoutes(kit: ExportsKit): AnyElysia {
  const answer = async (request: Request, path: string): Promise<Response> => {
    const cid = cidOf(path);
    const form = formOf(request);
    if (cid.toString() === emptyBlock && form !== 'file') return empty();
    const found = await findPublished(cid.toV1().toString(), { blobs: kit.blobs, assets: kit.use(assets) });
    const file = found && fileOf(found, { cid: path, form, request });
    const response = file && (await fileAnswer(request, { file, blobs: kit.blobs }));
    if (!response) throw notFound;
    for (const [name, value] of Object.entries({ ...always, ...headersOf(path, form) }))
      response.headers.set(name, value);
    if (isKept(response)) response.headers.set('cache-control', forEver);
    if (form !== 'file' || new URL(request.url).searchParams.get('download') === 'true') attach(response);
    return response;
  };
  return new Elysia()
    .get(
      '/ipfs/:cid',
      ({ params, request }) => openly(() => answer(request, params.cid)),
      says(
        'An export to IPFS that is kept on this server: the file, its root block (`format=raw`) or its CAR (`format=car`).',
        {
          name: 'getIpfs',
          isOpen: true,
          isOnEveryNode: true,
          path: {
            cid: Type.String({ examples: ['bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'] }),
          },
          query: {
            format: oneOf(['raw', 'car'], {
              description:
                'As `Accept: application/vnd.ipld.raw` or `application/vnd.ipld.car`, before which it counts.',
            }),
            'dag-scope': oneOf(['block', 'entity', 'all'], {
              description: 'Of a CAR: `block` is the root block alone.',
            }),
            download: Type.Literal('true', { description: 'The file is to be saved, not shown.' }),
            filename: Type.String({
              description: 'The name that it is saved under.',
              examples: ['Film.mp4'],
            }),
          },
          headers: requestHeaders,
          answers: {
            200: content('The file, the block or the CAR.'),
            206: content('The bytes that `Range` names.'),
            304: { ...nothing, description: 'The client has it.' },
          },
          faults: ['ipfs.not_found', 'ipfs.bad_request', ...fileFaults, ...storeFaults],
        },
      ),
    )
    .options('/ipfs/*', preflight, saysPreflight('preflightIpfs'));
}

/** A document is of any shape. */
function content(description: string): Answer {
  const { content } = text(['video/mp4', types.raw, types.car], description);
  return { description, content: { ...content, 'application/json': Type.Unknown() } };
}

type Form = 'file' | 'raw' | 'car' | 'car-block';

const types = { raw: 'application/vnd.ipld.raw', car: 'application/vnd.ipld.car' };
/** Our order of blocks is that in which they are made, and what a file has twice is there twice. */
const carType = `${types.car}; version=1; order=unk; dups=y`;
/** The CID of no bytes, by which clients find out whether this is a gateway (Trustless Gateway §4.1). */
const emptyBlock = 'bafkqaaa';
const forEver = 'public, max-age=29030400, immutable';

/** A stranger's file on our origin: it is shown, and runs and loads nothing. */
const always = {
  'content-security-policy': "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
  'access-control-allow-headers': 'Content-Type, Range, User-Agent, X-Requested-With',
  'access-control-expose-headers':
    'Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag, X-Ipfs-Path, X-Ipfs-Roots',
  vary: 'Accept',
};

function headersOf(cid: string, form: Form): Record<string, string> {
  const isCar = form === 'car' || form === 'car-block';
  return { 'x-ipfs-path': `/ipfs/${cid}`, 'x-ipfs-roots': cid, ...(isCar && { 'content-type': carType }) };
}

function cidOf(text: string): CID {
  try {
    if (text.length > mostCidCharacters) throw new RangeError('too long');
    return CID.parse(text, text.startsWith('k') ? base36 : text.startsWith('z') ? base58btc : undefined);
  } catch {
    // A whole one would be taken for a secret, and masked.
    throw badRequest('cid: expected a CID; most begin with "bafy", "bafk" or "Qm"');
  }
}

function formOf(request: Request): Form {
  const query = new URL(request.url).searchParams;
  const accept = request.headers.get('accept') ?? '';
  const inAccept = accept.includes(types.raw) ? 'raw' : accept.includes(types.car) ? 'car' : null;
  const format = query.get('format') ?? inAccept;
  if (format === null) return 'file';
  if (format === 'raw') return 'raw';
  if (format !== 'car') throw badRequest('format: expected raw or car');
  const scope = query.get('dag-scope') ?? 'all';
  if (!['block', 'entity', 'all'].includes(scope))
    throw badRequest('dag-scope: expected block, entity or all');
  if ((query.get('entity-bytes') ?? '0:*') !== '0:*') throw badRequest('entity-bytes: only 0:* is supported');
  return scope === 'block' ? 'car-block' : 'car';
}

/** Undefined: its bytes lie nowhere in one piece. */
function fileOf(
  found: Published,
  { cid, form, request }: { cid: string; form: Form; request: Request },
): AnsweredFile | undefined {
  const { key, size, places, type, file } = found;
  if (form === 'file') {
    const ending = type === 'video/mp4' ? 'mp4' : 'json';
    const name = new URL(request.url).searchParams.get('filename') ?? cid;
    return file && { pieces: [file], etag: cid, type, name, ending };
  }
  if (form === 'raw')
    return {
      pieces: [{ key, ...places.root }],
      etag: `${cid}.raw`,
      type: types.raw,
      name: cid,
      ending: 'bin',
    };
  const isWhole = form === 'car';
  const root = [
    { key, from: 0, to: places.header },
    { key, ...places.rootSection },
  ];
  return {
    pieces: isWhole ? [{ key, from: 0, to: size }] : root,
    etag: isWhole ? `${cid}.car` : `${cid}.car.block`,
    ...{ type: types.car, name: cid, ending: 'car' },
  };
}

function isKept({ status }: Response): boolean {
  return status === 200 || status === 206 || status === 304;
}

function attach({ headers }: Response): void {
  const shown = headers.get('content-disposition');
  if (shown) headers.set('content-disposition', shown.replace(/^inline/, 'attachment'));
}

function empty(): Response {
  return new Response(new Uint8Array(0), { headers: { ...always, 'content-type': types.raw } });
}

const notFound = ipfsFault(
  'ipfs.not_found',
  'Nothing that was exported here has this CID, or it was deleted. Blocks below a root are in its CAR alone.',
);

const badRequest = (message: string) => ipfsFault('ipfs.bad_request', message);
