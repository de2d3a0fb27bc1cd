import type { Clock } from '../../core/ports/clock.ts';
import {
  type Figures,
  type LiveKeyFrame,
  type LiveReading,
  type Media,
  type MediaHandlers,
  noFigures,
  noVitals,
  type PublishGrant,
  type PublishRefusal,
  type Vitals,
} from '../../core/ports/media.ts';

/** A broadcast that a test plays the encoder of. */
export interface ScriptedPublish {
  readonly answer: PublishGrant | PublishRefusal;
  readonly grant: PublishGrant;
  /** Media arrives now; its first segment is listed. */
  playable(figures?: Partial<Figures>): void;
  progress(figures?: Partial<Figures>): void;
  /** What can be read of it from now on; nothing is reported. */
  shows(reading: { figures?: Partial<Figures>; vitals?: Partial<Vitals>; viewers?: number }): void;
  /** The encoder ends it (`clean`) or its connection breaks. */
  end(options: { clean: boolean } & Partial<Figures>): void;
  /** Why the server closed it, if it did. */
  readonly closedBecause: string | undefined;
}

export interface ScriptedMedia extends Media {
  /** `app`: one that plugins have not named is refused, as the real one refuses it. */
  publish(
    key: string,
    options?: { isPush?: boolean; app?: string; address?: string; encoder?: string },
  ): Promise<ScriptedPublish>;
  /** What is shown of a playlist, by playback id: a test sets it. */
  readonly keyFrames: Map<string, LiveKeyFrame | 'none'>;
  /** Playback ids that were retired, in order. */
  readonly retired: readonly string[];
  readonly isOpen: boolean;
}

/**
 * A media port without sockets: tests say what the encoder does. `onOutput` hears of each playlist that begins, and ends.
 * `apps`: RTMP applications beside `live`.
 */
export function scriptedMedia(
  clock: Clock,
  onOutput: (playbackId: string, isThere: boolean) => void = () => {},
  apps: () => readonly string[] = () => [],
): ScriptedMedia {
  let handlers: MediaHandlers | undefined;
  const running = new Map<string, { figures: Figures; closedBecause?: string }>();
  const outputs = new Map<string, { -readonly [K in keyof LiveReading]: LiveReading[K] }>();
  const keyFrames = new Map<string, LiveKeyFrame | 'none'>();
  const retired: string[] = [];
  let endedBytes = 0;

  return {
    keyFrames,
    retired,
    get isOpen() {
      return handlers !== undefined;
    },
    async accept(given) {
      handlers = given;
      return async () => {
        handlers = undefined;
      };
    },
    close(token, reason) {
      const publish = running.get(token);
      if (publish) publish.closedBecause = reason;
    },
    retire(playbackId, { upTo = Number.POSITIVE_INFINITY } = {}) {
      const latest = outputs.get(playbackId)?.grant.discontinuitySequence ?? 0;
      if (latest > upTo) return;
      retired.push(playbackId);
      if (outputs.delete(playbackId)) onOutput(playbackId, false);
    },
    figures: (token) => running.get(token)?.figures,
    readings: () => [...outputs.values()].map((output) => ({ ...output })),
    totals() {
      let bytes = endedBytes;
      for (const { figures } of running.values()) bytes += figures.bytes;
      return { publishes: running.size, outputs: outputs.size, bytes, waitingViewers: 0, viewers: 0 };
    },
    serve: () => undefined,
    keyFrame: (playbackId) => keyFrames.get(playbackId),
    appears: async () => false,
    async publish(key, { isPush = false, app = 'live', address = '127.0.0.1', encoder } = {}) {
      if (!handlers) throw new Error('nothing accepts broadcasts');
      const { report, authorise, refused } = handlers;
      const request = {
        connection: 'c',
        app,
        key,
        address,
        isPush,
        ...(encoder !== undefined && { encoder }),
      };
      const isKnown = app === 'live' || apps().includes(app);
      if (!isKnown) refused?.(request, { cause: 'unknown_app', message: unknownApp.message });
      const answer = isKnown ? await authorise(request) : unknownApp;
      const grant = answer as PublishGrant;
      const state: { figures: Figures; closedBecause?: string } = {
        figures: { ...noFigures, targetDuration: 4 },
      };
      if (answer.granted) {
        running.set(grant.token, state);
        const viewers = outputs.get(grant.playbackId)?.viewers ?? 0;
        const { figures } = state;
        outputs.set(grant.playbackId, {
          grant,
          isPublishing: true,
          isDelayed: false,
          figures,
          vitals: noVitals,
          viewers,
        });
        onOutput(grant.playbackId, true);
      }
      const output = () => {
        const found = outputs.get(grant.playbackId);
        return found?.grant.token === grant.token ? found : undefined;
      };
      const take = (given: Partial<Figures> = {}) => {
        state.figures = { ...state.figures, lastMediaAt: clock.now(), ...given };
        const shown = output();
        if (shown) shown.figures = state.figures;
        return state.figures;
      };
      return {
        answer,
        grant,
        playable: (figures) => report({ type: 'playable', grant, figures: take(figures) }),
        progress: (figures) => report({ type: 'progress', grant, figures: take(figures) }),
        shows({ figures, vitals, viewers }) {
          if (figures) take({ lastMediaAt: state.figures.lastMediaAt, ...figures });
          const shown = output();
          if (shown && vitals) shown.vitals = { ...shown.vitals, ...vitals };
          if (shown && viewers !== undefined) shown.viewers = viewers;
        },
        end({ clean, ...figures }) {
          running.delete(grant.token);
          const last = take(figures);
          const shown = output();
          if (shown) shown.isPublishing = false;
          endedBytes += last.bytes;
          report({ type: 'closed', grant, clean, figures: last });
        },
        get closedBecause() {
          return state.closedBecause;
        },
      };
    },
  };
}

const unknownApp: PublishRefusal = {
  ...{ granted: false, reason: 'unauthorized', message: 'The URL does not name an app of this server.' },
};
