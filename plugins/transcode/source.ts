import { valuesOf } from '../../core/base/limit-table.ts';
import { conversionLimitTable } from '../../core/base/limits.ts';
import { beyondConversion } from '../../core/ports/converter.ts';
import type { VideoSpec } from '../../core/ports/recorder.ts';

/** Why a film is not transcoded, as a whole sentence; undefined when it is. */
export function problemOf(spec: VideoSpec): string | undefined {
  const why = beyondConversion(spec, valuesOf(conversionLimitTable));
  return why === undefined ? undefined : `The asset cannot be transcoded: ${why}.`;
}
