import { spawnSync } from 'node:child_process';
import { cidr } from '../../../core/base/cidr.ts';
import { jsonLog } from '../../../core/base/log.ts';
import type { PushTrouble } from '../../../core/ports/pusher.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import type { FfmpegProcess } from '../../../runtime/media/ffmpeg/process.ts';
import { type FfmpegRunner, ffmpegRunner, type RunnerOptions } from '../../../runtime/media/ffmpeg/runner.ts';
import type { PushConnection } from '../../../runtime/media/push/connection.ts';
import { srtPush } from '../../../runtime/media/push/srt/srt-push.ts';
import { type Film, lasting, sendFilm } from './srt-film.ts';

/** A push of a film, as the queue would run it. */
export interface FilmPush {
  readonly accepted: Promise<void>;
  /** Why it ended by itself. */
  readonly ended: Promise<PushTrouble>;
  /** The film is over, or the push is. */
  readonly sent: Promise<void>;
  abort(): void;
  leave(): void;
}

/** A sender with the real ffmpeg. All that it logs is in `lines`, all that it ever started in `processes`. */
export function sender(options: Partial<RunnerOptions> = {}) {
  const clock = systemClock();
  const lines: string[] = [];
  const processes: FfmpegProcess[] = [];
  const log = jsonLog({ level: 'debug', now: () => clock.now(), write: (line) => lines.push(line) });
  const real = ffmpegRunner({ clock, log, ...options });
  const runner: FfmpegRunner = {
    about: () => real.about(),
    async start(order) {
      const started = await real.start(order);
      if (started.ok) processes.push(started);
      return started;
    },
    get running() {
      return real.running;
    },
    close: () => real.close(),
  };
  const allow = [cidr('127.0.0.0/8')].filter((block) => block !== undefined);
  const open = srtPush({ clock, log, runner, allow });

  const push = (url: string, film: Film, { loop = false } = {}): FilmPush => {
    const accepted = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<PushTrouble>();
    const sent = Promise.withResolvers<void>();
    let isOver = false;
    let connection: PushConnection | undefined;
    let wake = () => {};
    const over = () => {
      isOver = true;
      wake();
    };
    const drained = () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      });
    const opening = open(url, {
      onOpen(opened) {
        connection = opened;
        sendFilm(film, { connection: opened, drained, isOver: () => isOver, loop }).then(
          sent.resolve,
          sent.reject,
        );
      },
      onAccepted: accepted.resolve,
      onDrain: () => wake(),
      onEnd(trouble) {
        over();
        ended.resolve(trouble);
      },
    });
    return {
      accepted: accepted.promise,
      ended: ended.promise,
      sent: sent.promise,
      abort() {
        over();
        opening.abort();
      },
      leave() {
        over();
        connection?.leave();
      },
    };
  };

  /** None of them runs any more. */
  const gone = async () => {
    for (const one of processes) await one.ended;
    while (runner.running > 0) await lasting(20);
    return processes.filter(({ pid }) => isThere(pid));
  };
  return { push, lines, processes, runner, gone };
}

/** Whether it runs; one that is dead and that nobody has asked after does not. */
export function isThere(pid: number): boolean {
  const stat = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`])
    .stdout.toString()
    .trim();
  return stat !== '' && !stat.startsWith('Z');
}
