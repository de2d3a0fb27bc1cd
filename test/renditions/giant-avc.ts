/** AVCDecoderConfigurationRecord (ISO/IEC 14496-15 5.3.3.1) of Baseline whose SPS says that a picture has 16,384 × 16,384 pixels. */
export const giantAvc = (() => {
  const sps = [0x67, ...bytesOf(spsBits())];
  const pps = [0x68, 0xce, 0x3c, 0x80];
  const [, profile, constraints, level] = sps;
  return Uint8Array.from([
    ...[1, profile, constraints, level, 0xff, 0xe1],
    ...[sps.length >> 8, sps.length & 255, ...sps],
    ...[1, pps.length >> 8, pps.length & 255, ...pps],
  ]);
})();

/** ITU-T H.264 7.3.2.1.1. */
function spsBits(): string {
  const blocks = 16_384 / 16;
  return [
    // Baseline, no constraints, level 6.2.
    ...[fixed(66, 8), fixed(0, 8), fixed(62, 8)],
    // Its id, sizes of counters (frame_num, order of pictures by decoding), reference frames, gaps.
    ...[exp(0), exp(0), exp(2), exp(1), '0'],
    ...[exp(blocks - 1), exp(blocks - 1)],
    // Frames alone, direct_8x8_inference, no cropping, no VUI; the stop bit.
    ...['1', '1', '0', '0', '1'],
  ].join('');
}

function fixed(value: number, bits: number): string {
  return value.toString(2).padStart(bits, '0');
}

/** Unsigned Exp-Golomb, 9.1. */
function exp(value: number): string {
  const bits = (value + 1).toString(2);
  return '0'.repeat(bits.length - 1) + bits;
}

function bytesOf(bits: string): number[] {
  return (bits.padEnd(Math.ceil(bits.length / 8) * 8, '0').match(/.{8}/g) ?? []).map((byte) =>
    Number.parseInt(byte, 2),
  );
}
