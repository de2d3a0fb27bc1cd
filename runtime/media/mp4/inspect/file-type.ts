/** Whether the major brand of an `ftyp` box (ISO/IEC 14496-12 4.3) is that of QuickTime. */
export function isQuickTime(ftyp: Uint8Array | undefined): boolean {
  return ftyp !== undefined && Buffer.from(ftyp.subarray(8, 12)).toString('latin1') === 'qt  ';
}
