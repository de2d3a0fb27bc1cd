import { type Fault, hasCode } from '../../../core/base/fault.ts';
import type { AssetsKit } from '../config.ts';
import { fileTooLarge, interrupted, notFound } from '../tus/faults.ts';
import type { TusState } from '../tus/uploads.ts';
import { accepted, uploadFault } from '../uploads/faults.ts';
import { uploading } from '../uploads/uploading.ts';
import type { Piece, Question } from './content-range.ts';

/** What has arrived of the file of an asset. `offset`: bytes that are certainly on disk. */
export interface Arrived {
  readonly offset: number;
  /** Bytes of the file; undefined if nothing of it has arrived. */
  readonly size?: number;
}

/** The pieces of one file per asset, on this node. They are kept as those of a tus upload are. */
export function pieces(kit: AssetsKit) {
  const { tus, tries } = kit.use(uploading);

  /** The file that was accepted from such pieces, on any node. */
  const finished = async (assetId: string): Promise<TusState | undefined> => {
    const state = await tus.finished({ assetId, uploadId: uploadOf(assetId) }).catch(unlessAbsent);
    if (!state && (await tries.documentOf(assetId)).status === 'ready') throw accepted;
    return state;
  };

  const placed = async (assetId: string, { request, piece, expires }: PieceRequest): Promise<TusState> => {
    const at = { assetId, uploadId: uploadOf(assetId) };
    const { from: offset, total: size } = piece;
    if (size > tus.most) throw fileTooLarge(tus.most, 'Content-Range');
    if (offset === 0) await tus.renew({ ...at, size, expires, metadata: '' });
    const begun = tus.glance(at);
    if (begun && begun.size !== size) throw otherFile(begun.size);
    return await tus.append(at, { request, offset, isRepeat: true });
  };

  /** Bytes of an unfinished file that are on disk. A running request may add more. */
  const arrived = (assetId: string): number =>
    tus.glance({ assetId, uploadId: uploadOf(assetId) })?.offset ?? 0;

  return {
    /** How much has arrived. A running request is ended first, so the number is final. If it is the whole file, the asset is ready. */
    async ask(assetId: string, { request, question }: QuestionRequest): Promise<Arrived> {
      const at = { assetId, uploadId: uploadOf(assetId) };
      const isDone = (await tries.documentOf(assetId)).status === 'ready';
      const begun = isDone ? undefined : tus.glance(at);
      // Nothing of this file has arrived, but some of another one, which the first piece replaces.
      if (begun && question.total !== undefined && begun.size !== question.total) return { offset: 0 };
      const state = begun && (await tus.state(at, request).catch(unlessAbsent));
      return state ?? (await finished(assetId)) ?? { offset: 0 };
    },

    /**
     * Adds a piece, and returns how much has arrived after it. If it is the whole file, the asset is ready. The first piece begins the
     * file anew. Any other one may repeat bytes that have arrived: they are dropped.
     */
    async add(assetId: string, given: PieceRequest): Promise<Arrived> {
      const { request, piece } = given;
      try {
        return await placed(assetId, given);
      } catch (error) {
        const offset = arrived(assetId);
        if (hasCode(error, 'upload.wrong_offset')) throw beyondArrived(offset);
        if (error !== accepted && error !== notFound) throw error;
        const done = await finished(assetId);
        if (!done && error === accepted) throw error;
        if (!done) throw piece.from > offset ? beyondArrived(offset) : interrupted;
        // Only the last piece is answered again: its first answer may have been lost.
        if (done.size !== piece.total || piece.to + 1 < piece.total) throw accepted;
        await request.body?.pipeTo(new WritableStream());
        return done;
      }
    },

    arrived,
  };
}

export interface PieceRequest {
  readonly request: Request;
  readonly piece: Piece;
  /** Until when more may come, epoch ms. */
  readonly expires: number;
}

export interface QuestionRequest {
  readonly request: Request;
  readonly question: Question;
}

/** Each asset has one such upload, whose id every node knows. */
function uploadOf(assetId: string): string {
  return `pieces-${assetId}`;
}

function unlessAbsent(error: unknown): undefined {
  if (error !== notFound) throw error;
}

function beyondArrived(offset: number): Fault {
  const message = `Content-Range: expected bytes from ${offset} or less, because ${offset} bytes have arrived.`;
  return uploadFault('upload.wrong_offset', message);
}

function otherFile(size: number): Fault {
  const message = `Content-Range: the file that is being uploaded has ${size} bytes. Begin another one at byte 0.`;
  return uploadFault('upload.other_file', message);
}
