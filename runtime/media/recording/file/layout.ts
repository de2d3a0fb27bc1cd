import { box, text, u32 } from '../../mp4/box.ts';

/** With this each take begins: ISO/IEC 14496-12 4.3. Version 1 of composition offsets needs `iso4` or later. */
export const FILE_TYPE = box('ftyp', text('isom'), u32(0x200), text('isomiso6mp41mp42'));

/** The header of an extent of `size` bytes in all; 0: it goes to the end of the file. */
export function extentHeader(size: number): Uint8Array {
  return new Uint8Array([...u32(size), ...text('mdat')]);
}
