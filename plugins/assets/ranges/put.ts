import { type AnyElysia, Elysia } from 'elysia';
import { Fault, hasCode } from '../../../core/base/fault.ts';
import { madeOf } from '../../../core/http/fault-causes.ts';
import { faultResponse, says } from '../../../core/http/http.ts';
import { idSchema, nothing, storeFaults } from '../../../core/http/operation.ts';
import { readableByAll } from '../../../core/http/public-access.ts';
import type { AssetDocument } from '../asset/document.ts';
import type { AssetsKit } from '../config.ts';
import { askedElsewhere } from '../tus/elsewhere.ts';
import { intakeFaults, storingFaults, tryFaults } from '../uploads/faults.ts';
import { uploading } from '../uploads/uploading.ts';
import { contentRangeOf, type Piece, type Question } from './content-range.ts';
import { becomeHolder, forgetHolder, holderOf } from './holder.ts';
import { type Arrived, pieces } from './pieces.ts';

/**
 * Receives a piece of the file of an asset, or the question how much of it has arrived. Returns the asset when the file was accepted,
 * otherwise 308 with the bytes that are on disk in `Range`. The node that took the first piece has the others too.
 */
export function rangedUploader(
  kit: AssetsKit,
): (request: Request, to: { assetId: string; expires: number }) => Promise<AssetDocument | Response> {
  const { id: own } = kit.deployment.node;
  const { tries } = kit.use(uploading);
  const isBeginning = (range: Piece | Question) => range.from === 0;

  const asked = async (request: Request, { assetId, expires, range }: Asked): Promise<Arrived | Response> => {
    const known = await holderOf(assetId, kit);
    const node = known ?? (isBeginning(range) ? await becomeHolder(assetId, { node: own, kit }) : own);
    if (node === own) return answered(kit, { request, assetId, expires, range });
    try {
      const to = {
        node,
        path: path.replace(':assetId', assetId),
        headers: { [expiresHeader]: String(expires) },
      };
      const method = range.from === undefined ? 'GET' : 'PATCH';
      const answer = await askedElsewhere(to, { request, method, kit });
      if (answer.status !== 204) return answer;
      const [offset, size] = [offsetHeader, sizeHeader].map((name) => Number(answer.headers.get(name)));
      return { offset, ...(answer.headers.has(sizeHeader) && { size }) };
    } catch (error) {
      if (!hasCode(error, 'upload.not_found')) throw error;
      // That node is gone, and the pieces with it.
      await forgetHolder(assetId, { node, kit });
      return asked(request, { assetId, expires, range });
    }
  };

  return async (request, { assetId, expires }) => {
    const range = contentRangeOf(request) as Piece | Question;
    const arrived = await asked(request, { assetId, expires, range });
    if (arrived instanceof Response) return arrived;
    if (arrived.offset === arrived.size) return await tries.documentOf(assetId);
    return new Response(null, { status: 308, headers: rangeOf(arrived.offset) });
  };
}

/** What other nodes ask, which have checked the URL. */
export function rangedNodeRoutes(kit: AssetsKit): AnyElysia {
  const asked = ({ request, params: { assetId } }: { request: Request; params: { assetId: string } }) =>
    asRanged({ assetId, kit }, async () => {
      const range = contentRangeOf(request) as Piece | Question;
      const expires = Number(request.headers.get(expiresHeader));
      const { offset, size } = await answered(kit, { request, assetId, expires, range });
      const headers = {
        [offsetHeader]: String(offset),
        ...(size !== undefined && { [sizeHeader]: String(size) }),
      };
      return new Response(null, { status: 204, headers });
    });
  return new Elysia()
    .get(path, asked, says('How much of a file in pieces has arrived.', said('pieces')))
    .patch(path, asked, {
      parse: 'none',
      ...says('Adds a piece of a file.', { ...said('addPiece'), file: ['application/octet-stream'] }),
    });
}

/** Adds to an answer or error what clients need to go on, and what pages of every origin need to read it. */
export async function asRanged(
  { assetId, kit }: { readonly assetId: string; readonly kit: AssetsKit },
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    const response = await answer();
    for (const [name, value] of Object.entries(ofEveryAnswer)) response.headers.set(name, value);
    return response;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const headers = { ...ofEveryAnswer, ...rangeOf(pieces(kit).arrived(assetId)) };
    return madeOf(error, faultResponse(hasCode(error, 'upload.locked') ? busy(error) : error, headers));
  }
}

/** Clients of resumable uploads try again after 503, but not after 423. */
function busy({ problems, retryAfter = 5 }: Fault): Fault {
  return new Fault('server.busy', { status: 503, message: problems, retryAfter });
}

interface Asked {
  readonly assetId: string;
  readonly expires: number;
  readonly range: Piece | Question;
}

function answered(
  kit: AssetsKit,
  { request, assetId, expires, range }: Asked & { readonly request: Request },
): Promise<Arrived> {
  const own = pieces(kit);
  if (range.from === undefined) return own.ask(assetId, { request, question: range });
  return own.add(assetId, { request, piece: range, expires });
}

/** `Range` as Google Cloud Storage sends it: the bytes that need not be sent again. Absent if there are none. */
function rangeOf(offset: number): Record<string, string> {
  return offset > 0 ? { range: `bytes=0-${offset - 1}` } : {};
}

const path = '/internal/upload/:assetId/pieces';

/** Between nodes. */
const expiresHeader = 'upload-expires';
const offsetHeader = 'upload-offset';
const sizeHeader = 'upload-length';

const ofEveryAnswer = {
  ...readableByAll,
  'access-control-expose-headers': 'Range, Retry-After',
  'cache-control': 'no-store',
};

/** Faults of a PUT with `Content-Range`, beside those of any PUT. */
export const rangedFaults = [
  ...['upload.invalid', 'upload.length_required', 'upload.wrong_range', 'upload.wrong_offset'],
  ...['upload.other_file', 'upload.interrupted', 'upload.not_found', 'node.unreachable', 'intake.beyond'],
];

const said = (name: string) => ({
  name,
  isOpen: true as const,
  path: { assetId: idSchema },
  answers: { 204: nothing },
  faults: [...tryFaults, ...rangedFaults, ...intakeFaults, ...storingFaults, ...storeFaults],
});
