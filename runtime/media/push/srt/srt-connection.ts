import type { Clock } from '../../../../core/ports/clock.ts';
import type { PushTrouble } from '../../../../core/ports/pusher.ts';
import { libavformat } from '../../ffmpeg/about.ts';
import type { FfmpegHandlers, FfmpegProcess } from '../../ffmpeg/process.ts';
import type { PushHandlers } from '../connection.ts';
import { trouble } from '../troubles.ts';
import { flvFraming } from './flv-framing.ts';
import type { SrtLimits } from './limits.ts';

/** One connection: a process of ffmpeg that is fed. */
export interface SrtConnection extends FfmpegHandlers {
  readonly isAccepted: boolean;
  /** Lets media in. `onLeave` is told when the caller wants to hear no more. */
  open(child: FfmpegProcess, onLeave: () => void): void;
  /** The process is gone. */
  stop(): void;
}

export function srtConnection(options: {
  readonly clock: Clock;
  readonly limits: SrtLimits;
  readonly handlers: PushHandlers;
  /** Of libavformat, as one number. */
  readonly version: number;
  /** What the far side plays out behind what it has received, ms. */
  readonly latency: number;
  /** Ends the push, unless it is over. */
  fail(what: PushTrouble): void;
  isOver(): boolean;
}): SrtConnection {
  const { clock, limits, handlers, version, fail, isOver } = options;
  let isAccepted = false;
  let hasBegun = false;
  let cancel = () => {};
  const after = (ms: number, run: () => void) => {
    cancel();
    cancel = clock.at(clock.now() + ms, run);
  };
  const framing = flvFraming(
    { hevc: version >= libavformat(60, 16), opus: version >= libavformat(62, 0) },
    // The caller is in the middle of writing.
    (what) =>
      queueMicrotask(() =>
        fail(trouble('unsupported', `over SRT the ffmpeg of this server cannot send ${what}`)),
      ),
  );

  return {
    get isAccepted() {
      return isAccepted;
    },
    onOutput() {
      if (isAccepted || isOver()) return;
      isAccepted = true;
      cancel();
      handlers.onAccepted?.();
    },
    onDrain() {
      if (!isOver()) handlers.onDrain();
    },
    open(child, onLeave) {
      handlers.onOpen({
        isAccepted: false,
        framing,
        write(bytes) {
          if (isOver()) return 0;
          if (!hasBegun) {
            hasBegun = true;
            after(limits.acceptTimeout, () =>
              fail(trouble('timeout', `no connection came about within ${limits.acceptTimeout / 1000} s`)),
            );
          }
          return child.write(bytes);
        },
        leave() {
          if (isOver()) return;
          onLeave();
          if (!isAccepted) child.kill();
          // What the far side has received but not played out yet is lost when it hears that this is the end.
          else after(options.latency + limits.linger, () => child.end());
        },
      });
    },
    stop() {
      cancel();
    },
  };
}
