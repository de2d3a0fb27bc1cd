import { beyondConversion, conversionBounds } from '../../core/ports/converter.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';

/** Why a film is not transcoded, as a whole sentence; undefined when it is. */
export function problemOf(spec: VideoSpec): string | undefined {
  const why = beyondConversion(spec, conversionBounds);
  return why === undefined ? undefined : `The asset cannot be transcoded: ${why}.`;
}
