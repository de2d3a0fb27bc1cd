import type { Cidr } from '../../../core/base/cidr.ts';
import type { Log } from '../../../core/base/log.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { PushTrouble } from '../../../core/ports/pusher.ts';
import { srtUrl } from '../../../core/push-url/srt-url.ts';
import { outboundLimits } from '../../drivers/outbound/limits.ts';
import { type Lookup, resolver } from '../../drivers/outbound/resolver.ts';
import type { FfmpegCommand } from '../ffmpeg/command.ts';
import type { FfmpegProcess } from '../ffmpeg/process.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import type { OpenPush } from './connection.ts';
import { type SrtLimits, srtLimits } from './srt/limits.ts';
import { srtCommand } from './srt/srt-command.ts';
import { srtConnection } from './srt/srt-connection.ts';
import { endTrouble, noFfmpeg, refusalTrouble } from './srt/srt-trouble.ts';
import { badUrl, outboundTrouble, trouble } from './troubles.ts';

interface Prepared {
  readonly command: FfmpegCommand;
  readonly version: number;
  readonly latency: number;
}

export interface SrtPushOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Addresses that are open although they are not public. */
  readonly allow: readonly Cidr[];
  readonly runner: FfmpegRunner;
  readonly limits?: Partial<SrtLimits>;
  readonly lookup?: Lookup;
}

/**
 * Pushes to `srt://` through ffmpeg: FLV into its standard input, MPEG-TS over SRT out of it. ffmpeg connects after it has seen
 * the first media, so a connection opens unaccepted, and is accepted with ffmpeg's first report: it makes none before its
 * output is open. It is given the address that was checked, never the name, and all else of the URL where nobody can read it.
 */
export function srtPush(options: SrtPushOptions): OpenPush {
  const { clock, log, allow, runner, lookup } = options;
  const limits = { ...srtLimits, ...options.limits };
  const names = resolver({ allow, clock, limits: outboundLimits, ...(lookup && { lookup }) });
  /** Which of several addresses is taken: another one after each that could not be connected to. */
  let turn = 0;

  /** What to start, or why nothing can be. */
  const prepare = async (text: string): Promise<Prepared | PushTrouble> => {
    const url = srtUrl(text);
    if (!url.ok) return badUrl(url);
    const addresses = await names.resolve({ ...url.to, origin: 'the server' });
    if ('ok' in addresses) return outboundTrouble(addresses);
    const about = await runner.about();
    if (!about) return noFfmpeg;
    if (!about.protocols.has('srt')) {
      return trouble('unsupported', 'the ffmpeg of this server was built without SRT');
    }
    const address = addresses[turn % addresses.length];
    const command = srtCommand(url, { address, limits });
    return { command, version: about.libavformat, latency: url.latency ?? 0 };
  };

  return (text, handlers) => {
    let isOver = false;
    let child: FfmpegProcess | undefined;
    const fail = (what: PushTrouble) => {
      if (isOver) return;
      isOver = true;
      child?.kill();
      if (what.reason === 'connect' || what.reason === 'timeout') turn += 1;
      handlers.onEnd(what);
    };
    const begin = async () => {
      const prepared = await prepare(text);
      if (isOver) return;
      if ('reason' in prepared) return fail(prepared);
      const run = srtConnection({ ...prepared, clock, limits, handlers, fail, isOver: () => isOver });
      const started = await runner.start({
        ...{ command: prepared.command, handlers: run, niceness: limits.niceness },
        isWanted: () => !isOver,
      });
      if (!started.ok) return fail(refusalTrouble(started));
      child = started;
      if (isOver) return started.kill();
      void started.ended.then((end) => {
        run.stop();
        if (isOver) return;
        if (end.errors !== '') log.debug('ffmpeg ended a push over SRT', { errors: end.errors });
        fail(endTrouble(end, run));
      });
      run.open(started, () => {
        isOver = true;
      });
    };
    begin().catch((error: unknown) => {
      log.error('a push over SRT could not be begun', { error });
      fail(trouble('unsupported', 'this server could not begin to send'));
    });
    return {
      abort() {
        isOver = true;
        child?.kill();
      },
    };
  };
}
