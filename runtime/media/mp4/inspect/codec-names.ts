/** How people call the codec of a sample entry, and whether it is of pictures that do not move. */
export function nameCodec(type: string): { readonly name: string; readonly isStill: boolean } {
  const isStill = ['jpeg', 'mjpa', 'mjpb', 'png ', 'tiff', 'mjpg'].includes(type);
  const name = names[type];
  return { name: name === undefined ? `'${type}'` : `${name} (${type.trim()})`, isStill };
}

/** The same of an objectTypeIndication, ISO/IEC 14496-1 7.2.6.6. */
export function nameObject(type: number): string {
  return objectNames[type] ?? `MPEG-4 object type ${type}`;
}

const objectNames: Readonly<Record<number, string>> = {
  105: 'MP3',
  107: 'MP3',
  165: 'AC-3',
  166: 'E-AC-3',
  169: 'DTS',
  173: 'Opus',
  221: 'Vorbis',
};

const names: Readonly<Record<string, string>> = {
  __proto__: null as never,
  'ac-3': 'AC-3',
  'ac-4': 'AC-4',
  'ec-3': 'E-AC-3',
  'png ': 'PNG',
  alac: 'Apple Lossless',
  ap4h: 'ProRes',
  apch: 'ProRes',
  apcn: 'ProRes',
  apco: 'ProRes',
  apcs: 'ProRes',
  av01: 'AV1',
  dvh1: 'Dolby Vision',
  dvhe: 'Dolby Vision',
  dva1: 'Dolby Vision',
  dvav: 'Dolby Vision',
  fLaC: 'FLAC',
  hev1: 'HEVC',
  hvc1: 'HEVC',
  ipcm: 'PCM',
  jpeg: 'JPEG',
  lpcm: 'PCM',
  mp4v: 'MPEG-4 Visual',
  Opus: 'Opus',
  s263: 'H.263',
  samr: 'AMR',
  sowt: 'PCM',
  twos: 'PCM',
  vp08: 'VP8',
  vp09: 'VP9',
  vvc1: 'VVC',
};
