import { type Box, Fields } from './boxes.ts';

/** What `mvhd` and `mdhd` (ISO/IEC 14496-12 8.2.2, 8.4.2) begin with. */
export function readTimes(box: Box): {
  /** Ticks a second; may be 0. */
  readonly timescale: number;
  /** Ticks; undefined: not told. */
  readonly claimed: number | undefined;
} {
  const fields = new Fields(box);
  const isLong = fields.full().version === 1;
  fields.skip(isLong ? 16 : 8);
  const timescale = fields.u32();
  const duration = isLong ? fields.u64() : fields.u32();
  // All ones says that it is not known; 0 is what live muxers leave there.
  const isUnknown = duration === 0 || duration >= (isLong ? 2 ** 64 - 2 ** 32 : 0xffffffff);
  return { timescale, claimed: isUnknown ? undefined : duration };
}
