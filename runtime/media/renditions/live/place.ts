import type { Init, Segment } from '../../live/segment.ts';
import type { LiveWindow } from '../../live/window.ts';

/** A part of the source, by its segment and its number in it. */
export interface Place {
  readonly sequence: number;
  readonly part: number;
}

/** The newest segment from `floor` on that a decoder can begin with. */
export function newestPlace(source: LiveWindow, { floor }: { readonly floor: number }): Place | undefined {
  const { open, init, nextSequence } = source;
  const candidates = [open, source.segment(nextSequence - 1)];
  const segment = candidates.find(
    (each) =>
      each !== undefined &&
      each.sequence >= floor &&
      each.init.id === init?.id &&
      each.parts[0]?.isIndependent,
  );
  return segment && { sequence: segment.sequence, part: 0 };
}

/** The nearest segment that a decoder can begin with: this one, mostly; undefined: there is none any more. */
export function decodableBefore(source: LiveWindow, segment: Segment): Segment | undefined {
  let found: Segment | undefined = segment;
  while (found !== undefined && !found.parts[0]?.isIndependent) found = source.segment(found.sequence - 1);
  return found?.init.id === segment.init.id ? found : undefined;
}

/** How much media of the source lies behind this place, seconds. */
export function mediaBehind(source: LiveWindow, place: Place): number {
  let seconds = 0;
  for (let { sequence } = place; sequence <= source.nextSequence; sequence += 1) {
    const segment = source.segment(sequence);
    const from = sequence === place.sequence ? place.part : 0;
    if (segment !== undefined) for (const part of segment.parts.slice(from)) seconds += part.duration;
  }
  return seconds;
}

export function hasPictures(init: Init): init is Init & { width: number; height: number } {
  return init.width !== undefined && init.height !== undefined;
}
