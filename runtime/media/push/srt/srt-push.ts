import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { PushReason, PushTrouble } from '../../../../core/ports/pusher.ts';
import { type SrtUrl, srtUrl } from '../../../../core/push-url/srt-url.ts';
import type { Allowed } from '../../../drivers/outbound/openings.ts';
import { type Lookup, type Resolver, resolver } from '../../../drivers/outbound/resolver.ts';
import { type FfmpegAbout, libavformat } from '../../ffmpeg/about.ts';
import type { FfmpegEnd, FfmpegProcess } from '../../ffmpeg/process.ts';
import { type FfmpegRefusal, type FfmpegRunner, refusalMessages } from '../../ffmpeg/runner.ts';
import type { OpeningPush, OpenPush, PushHandlers } from '../connection.ts';
import { badUrl, outboundTrouble, trouble } from '../troubles.ts';
import { flvFraming } from './flv-framing.ts';
import { srtCommand } from './srt-command.ts';

export interface SrtPushOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Addresses that are open although they are not public. */
  readonly allow: Allowed;
  readonly runner: FfmpegRunner;
  readonly lookup?: Lookup;
}

/**
 * Pushes to `srt://` through ffmpeg: FLV into its standard input, MPEG-TS over SRT out of it. ffmpeg connects after it has seen
 * the first media, so a connection opens unaccepted, and is accepted with ffmpeg's first report: it makes none before its
 * output is open. It is given the address that was checked, never the name, and all else of the URL where nobody can read it.
 */
export function srtPush(options: SrtPushOptions): OpenPush {
  const { clock, allow, lookup } = options;
  const names = resolver({ allow, clock, ...(lookup && { lookup }) });
  const turn = { count: 0 };
  return (url, handlers) => {
    const push = new SrtPush({ ...options, names, handlers, turn });
    void push.open(url);
    return push;
  };
}

interface Parts extends SrtPushOptions {
  readonly names: Resolver;
  readonly handlers: PushHandlers;
  /** Chooses among several addresses: the next one after each that did not answer. Shared by all pushes. */
  readonly turn: { count: number };
}

class SrtPush implements OpeningPush {
  readonly #parts: Parts;
  #child: FfmpegProcess | undefined;
  #isOver = false;
  #isAccepted = false;
  #hasBegun = false;
  #cancelTimer = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async open(text: string): Promise<void> {
    const { log } = this.#parts;
    try {
      const refused = await this.#start(text);
      if (refused) this.#fail(refused);
    } catch (error) {
      log.error('a push over SRT could not be begun', { error });
      this.#fail(trouble('unsupported', 'this server could not begin to send'));
    }
  }

  abort(): void {
    this.#isOver = true;
    this.#child?.kill();
  }

  /** Returns why ffmpeg was not started. */
  async #start(text: string): Promise<PushTrouble | undefined> {
    const { names, runner, turn, handlers, log } = this.#parts;
    const url = srtUrl(text);
    if (!url.ok) return badUrl(url);
    const addresses = await names.resolve({ ...url.to, origin: 'the server' }, handlers.owner);
    if ('ok' in addresses) return outboundTrouble(addresses);
    const about = await runner.about();
    if (!about) return refusalTrouble('missing');
    if (!about.protocols.has('srt'))
      return trouble('unsupported', 'the ffmpeg of this server was built without SRT');
    if (this.#isOver) return undefined;
    const started = await runner.start({
      command: srtCommand(url, addresses[turn.count % addresses.length]),
      handlers: {
        onOutput: () => this.#accepted(),
        onDrain: () => {
          if (!this.#isOver) handlers.onDrain();
        },
      },
      niceness,
      isWanted: () => !this.#isOver,
    });
    if (!started.ok) return refusalTrouble(started.reason);
    this.#child = started;
    if (this.#isOver) return void started.kill();
    void started.ended.then((end) => {
      this.#cancelTimer();
      if (this.#isOver) return;
      if (end.errors !== '') log.debug('ffmpeg ended a push over SRT', { errors: end.errors });
      this.#fail(endTrouble(end, { isAccepted: this.#isAccepted }));
    });
    this.#opened(started, { url, about });
    return undefined;
  }

  #opened(child: FfmpegProcess, { url, about }: { url: SrtUrl; about: FfmpegAbout }): void {
    const version = about.libavformat;
    const framing = flvFraming(
      { hevc: version >= libavformat(60, 16), opus: version >= libavformat(62, 0) },
      // The caller is in the middle of writing.
      (what) =>
        queueMicrotask(() =>
          this.#fail(trouble('unsupported', `over SRT the ffmpeg of this server cannot send ${what}`)),
        ),
    );
    this.#parts.handlers.onOpen({
      isAccepted: false,
      framing,
      write: (bytes) => {
        if (this.#isOver) return 0;
        if (!this.#hasBegun) this.#awaitAccept();
        return child.write(bytes);
      },
      leave: () => {
        if (this.#isOver) return;
        this.#isOver = true;
        if (!this.#isAccepted) child.kill();
        // What the far side has received but not played out yet is lost when it hears the end.
        else this.#after((url.latency ?? 0) + lingerMs, () => child.end());
      },
    });
  }

  #awaitAccept(): void {
    this.#hasBegun = true;
    this.#after(acceptMs, () =>
      this.#fail(trouble('timeout', `the server did not connect within ${acceptMs / 1000} s`)),
    );
  }

  #accepted(): void {
    if (this.#isAccepted || this.#isOver) return;
    this.#isAccepted = true;
    this.#cancelTimer();
    this.#parts.handlers.onAccepted?.();
  }

  #after(ms: number, work: () => void): void {
    const { clock } = this.#parts;
    this.#cancelTimer();
    this.#cancelTimer = clock.at(clock.now() + ms, work);
  }

  #fail(why: PushTrouble): void {
    if (this.#isOver) return;
    this.abort();
    if (why.reason === 'connect' || why.reason === 'timeout') this.#parts.turn.count += 1;
    this.#parts.handlers.onEnd(why);
  }
}

/** ms from the first media written to ffmpeg's word that it is connected. */
const acceptMs = 12_000;
/** ms beyond its latency that a connection stays open at the end of a push: SRT discards what was not played out. */
const lingerMs = 250;
/** nice(1) of ffmpeg: ingest goes first. */
const niceness = 5;

/** Why ffmpeg, which SRT needs, was not started. */
function refusalTrouble(reason: FfmpegRefusal['reason']): PushTrouble {
  const reasons: Partial<Record<string, PushReason>> = { full: 'full', order: 'url' };
  return { reason: reasons[reason] ?? 'unsupported', message: refusalMessages[reason] };
}

/**
 * What ended ffmpeg, from what it and libsrt said (libsrt 1.4 and 1.5: core.cpp, handshake.cpp; ffmpeg 4.4 to 8: libsrt.c).
 * Known signs become words of ours; nothing of the text is handed on, for it repeats the address, and what others wrote.
 */
function endTrouble(end: FfmpegEnd, { isAccepted }: { isAccepted: boolean }): PushTrouble {
  const { errors, signal } = end;
  if (signal !== undefined) return trouble('closed', 'the process of ffmpeg that sent it was ended');
  if (isAccepted) return trouble('closed', 'the server closed the connection, or is gone');
  if (/incorrect passphrase|bad ?secret|wrong password/i.test(errors)) {
    return trouble('rejected', 'the server refused the passphrase');
  }
  if (/password required|unsecure|encryption/i.test(errors)) {
    return trouble('rejected', 'the server wants a passphrase and there is none, or the other way round');
  }
  if (/reject/i.test(errors)) {
    return trouble('rejected', 'the server refused the connection: see whether the streamid is right');
  }
  if (/protocol not found|unknown protocol/i.test(errors)) {
    return trouble('unsupported', 'the ffmpeg of this server cannot speak SRT');
  }
  if (/network is unreachable|no route to host|permission denied|operation not permitted/i.test(errors)) {
    return trouble('connect', 'the server cannot be reached from here');
  }
  if (/\bsrt\b|connection|timed? ?out|input\/output error/i.test(errors)) {
    return trouble('connect', 'the server did not answer');
  }
  return trouble('protocol', 'the ffmpeg of this server could not make a stream for SRT of this broadcast');
}
