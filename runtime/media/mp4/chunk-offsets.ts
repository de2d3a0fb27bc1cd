import { type Box, Children, Fields, readTable } from './inspect/boxes.ts';

/** Puts another number in place of each chunk offset (ISO/IEC 14496-12 8.7.5) of all tracks. Throws Refusal. */
export function mapChunkOffsets(moov: Box, change: (offset: number, isLong: boolean) => number): void {
  let boxes = [moov];
  for (const type of ['trak', 'mdia', 'minf', 'stbl'])
    boxes = boxes.flatMap((box) => new Children(box).all.filter((child) => child.type === type));
  for (const box of boxes.flatMap((stbl) => new Children(stbl).all)) {
    const isLong = box.type === 'co64';
    if (!isLong && box.type !== 'stco') continue;
    const fields = new Fields(box);
    fields.full();
    const row = isLong ? 8 : 4;
    const { view, at: first, count } = readTable(fields, { box, row });
    for (let at = first; at < first + count * row; at += row) {
      const offset = isLong ? view.getUint32(at) * 2 ** 32 + view.getUint32(at + 4) : view.getUint32(at);
      const changed = change(offset, isLong);
      if (isLong) view.setUint32(at, Math.floor(changed / 2 ** 32));
      view.setUint32(isLong ? at + 4 : at, changed % 2 ** 32);
    }
  }
}
