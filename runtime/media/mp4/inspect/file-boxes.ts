import { typeAt } from './boxes.ts';
import { inspectionLimits } from './limits.ts';
import { Refusal } from './refusal.ts';
import type { FileWindow } from './window.ts';

/** A box of the file itself: only its header was read. */
export interface FileBox {
  readonly type: string;
  readonly at: number;
  /** Where its payload begins and ends. */
  readonly from: number;
  readonly to: number;
}

/** What may follow the film without being part of it: some cameras and taggers add what is no box. */
const needed = ['ftyp', 'moov', 'moof', 'mdat'];

/**
 * The boxes of a file, one after another, each a header of 8 or 16 bytes. A box that has more bytes than the file is a
 * Refusal, as is a size that is none; the last one may say 0, "to the end of the file" (ISO/IEC 14496-12 4.2.2).
 */
export async function* fileBoxes(window: FileWindow): AsyncGenerator<FileBox> {
  const { size: end } = window;
  let hasMovie = false;
  let at = 0;
  for (let count = 0; end - at >= 8; count += 1) {
    if (count >= inspectionLimits.fileBoxes.value)
      throw new Refusal(`it has more than ${inspectionLimits.fileBoxes.value} boxes`);
    const head = await window.view(at, Math.min(at + 16, end));
    const type = typeAt(head, 4);
    let size = head.getUint32(0);
    let header = 8;
    if (size === 0) size = end - at;
    if (size === 1 && head.byteLength === 16) {
      size = head.getUint32(8) * 0x100000000 + head.getUint32(12);
      header = 16;
    }
    if (size < header || at + size > end) {
      if (hasMovie && !needed.includes(type)) return;
      if (size < header) throw new Refusal(`the ${type} box at byte ${at} has the impossible size ${size}`);
      throw new Refusal(
        `it is cut off: the ${type} box at byte ${at} has ${size} bytes, and the file ends after ${end - at} of them`,
      );
    }
    yield { type, at, from: at + header, to: at + size };
    hasMovie ||= type === 'moov';
    at += size;
  }
}
