import type { PublishGrant } from '../../../core/ports/media.ts';

type Counted = Pick<PublishGrant, 'mediaSequence' | 'discontinuitySequence'> & {
  /** Where its media ended on its timeline, milliseconds. */
  readonly end: number;
};

/**
 * How far the playlists that were removed had counted, so that the next one of the same playbackId begins after them. The numbers of
 * a grant ensure that while media comes in real time and with one discontinuity per publish. A file that is pushed at full speed, or
 * an encoder that changes its settings, counts further.
 */
export class Numbers {
  readonly #reached = new Map<string, Counted & { readonly publish: number }>();

  /** The playlist of this publish is removed: the next one begins at these numbers or above. */
  keep({ playbackId, discontinuitySequence: publish }: PublishGrant, counted: Counted): void {
    this.#reached.delete(playbackId);
    this.#reached.set(playbackId, { ...counted, publish });
    if (this.#reached.size <= MOST) return;
    for (const oldest of this.#reached.keys()) {
      this.#reached.delete(oldest);
      break;
    }
  }

  /** Where the media of the former playlist ended on its timeline, milliseconds; 0: there was none. */
  endOf(playbackId: string): number {
    return this.#reached.get(playbackId)?.end ?? 0;
  }

  /** Which publish the former playlist had last, by its `discontinuitySequence`; undefined: none is known. */
  lastOf(playbackId: string): number | undefined {
    return this.#reached.get(playbackId)?.publish;
  }

  /** The grant, with its numbers raised where a former playlist went beyond them. */
  raise(grant: PublishGrant): PublishGrant {
    const reached = this.#reached.get(grant.playbackId);
    if (reached === undefined) return grant;
    return {
      ...grant,
      mediaSequence: Math.max(grant.mediaSequence, reached.mediaSequence),
      discontinuitySequence: Math.max(grant.discontinuitySequence, reached.discontinuitySequence),
    };
  }
}

/** Ended playlists, some hundred bytes each. For an older one the numbers of the grant count. */
const MOST = 10_000;
