/** H.264 profiles (`profile_idc`) that every browser decodes: Baseline, Main, Extended as Baseline, High. */
const profiles = new Set(['42', '4d', '58', '64']);
const videoNames = new Set(['avc1', 'avc3', 'hvc1', 'hev1', 'av01', 'vp08', 'vp09', 'dvh1', 'dvhe']);

/** By RFC 6381 name; true for what is no video. HEVC, AV1 and VP9 play on some devices only. */
export function isVideoForAll(codec: string): boolean {
  const [name, rest = ''] = codec.split('.');
  if (!videoNames.has(name)) return true;
  return name.startsWith('avc') && profiles.has(rest.slice(0, 2).toLowerCase());
}

/** The same of sound: AAC in all its profiles (`mp4a.40.*`) plays everywhere. */
export function isAudioForAll(codec: string): boolean {
  const [name, type] = codec.split('.');
  return videoNames.has(name) || (name === 'mp4a' && type === '40');
}
