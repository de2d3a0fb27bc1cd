import type { PictureQueue } from './picture-queue.ts';
import type { SourcePart } from './source-part.ts';

/** Parts of the source, from the first that is not made, that can be made now. They are of one segment. */
export interface ReadyParts {
  readonly parts: readonly SourcePart[];
  readonly endsSegment: boolean;
  /** Each rendition has a picture of them. */
  readonly isWhole: boolean;
}

/** What is known besides when it is looked for them. */
export interface AssemblyState {
  /** All pictures have come. */
  readonly isOver: boolean;
  /** Whether a part is the last of its segment, as far as is known. */
  endsSegment(part: SourcePart): boolean;
}

/**
 * Finds parts for which all pictures have come, of all renditions: they are shown together, so that a process that goes on where
 * another one broke can begin at one time for all of them. A part of which a rendition with fewer pictures has none is made
 * together with those around it.
 */
export function readyParts(
  parts: readonly SourcePart[],
  queues: readonly PictureQueue[],
  state: AssemblyState,
): ReadyParts | undefined {
  for (let count = 1; count <= parts.length; count += 1) {
    const part = parts[count - 1];
    if (!state.isOver && !queues.every((queue) => isComplete(queue, part))) return undefined;
    const following: SourcePart | undefined = parts[count];
    const endsSegment = following
      ? following.sequence !== part.sequence
      : state.isOver || state.endsSegment(part);
    const isWhole = queues.every((queue) => queue.countBefore(part.end) > 0);
    if (endsSegment || (isWhole && queues.every((queue) => mayEnd(queue, { part, following }))))
      return { parts: parts.slice(0, count), endsSegment, isWhole };
  }
  return undefined;
}

/** As many pictures as the source has, or one of a later part: the decoder may have dropped some, or there are fewer by order. */
function isComplete(queue: PictureQueue, part: SourcePart): boolean {
  return queue.newest >= part.end || hasAll(queue, part);
}

/** Whether what follows has a picture of its own: if not, this part lasts longer. */
function mayEnd(
  queue: PictureQueue,
  { part, following }: { part: SourcePart; following: SourcePart | undefined },
): boolean {
  return hasAll(queue, part) || (following !== undefined && queue.countIn(following) > 0);
}

function hasAll(queue: PictureQueue, part: SourcePart): boolean {
  return queue.isEach && queue.countIn(part) >= part.pictures;
}
