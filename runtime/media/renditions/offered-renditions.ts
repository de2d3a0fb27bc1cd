import type { Log } from '../../../core/base/log.ts';
import { checkedName } from '../../../core/hls/subtitles-name.ts';
import type { RenditionOptions } from '../../../core/plugin/media.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { RenditionProfile } from '../../../core/ports/transcoder.ts';
import type { LiveOutput } from '../live/output.ts';
import type { MemoryShare } from '../publish/memory-budget.ts';
import { LiveLadder } from './live/live-ladder.ts';
import { PluginEncoding } from './plugin-encoding.ts';

export interface OfferedRenditionsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly output: LiveOutput;
  readonly memory: MemoryShare | undefined;
  readonly playbackId: string;
  readonly streamId: string;
}

/**
 * Renditions that plugins make of one playlist, each with a ladder of its own. One that is offered again by the publish that follows
 * goes on, as those of the transcoder do. They are neither recorded nor pushed.
 */
export class OfferedRenditions {
  readonly #options: OfferedRenditionsOptions;
  readonly #offered = new Map<string, Offered>();
  /** All that there were: each has a playlist of its own. */
  readonly #names = new Set<string>();
  #turns = 0;

  constructor(options: OfferedRenditionsOptions) {
    this.#options = options;
  }

  /** Another publish begins: what it does not offer again ends with `settle`. */
  begin(): void {
    for (const one of this.#offered.values()) one.isWanted = false;
  }

  /** All that are offered from its beginning are. */
  settle(): void {
    for (const [owner, { isWanted }] of this.#offered) if (!isWanted) this.#end(owner);
  }

  /** Returns the function that takes it back. Throws RangeError. */
  offer(options: RenditionOptions, { plugin }: { readonly plugin: string }): () => void {
    const profile = checkedProfile(options);
    const { name } = profile;
    const owner = `${plugin}/${name}`;
    const known = this.#offered.get(owner);
    if (known?.isWanted) throw new RangeError(`the plugin offers a rendition ${name} already`);
    const wanted = [...this.#offered.values()].filter(({ isWanted }) => isWanted);
    const isNew = !this.#names.has(owner);
    if (wanted.length === most || (isNew && this.#names.size === mostNames))
      throw new RangeError(`plugins offer at most ${most} renditions of a broadcast, of ${mostNames} names`);
    if (known?.ladder.isOf([profile])) {
      known.encoding.encode = options.encode;
      known.isWanted = true;
      known.ladder.attach({});
    } else {
      this.#end(owner);
      this.#begin(owner, { profile, options, plugin });
    }
    const turn = ++this.#turns;
    const offered = this.#offered.get(owner);
    if (offered) offered.turn = turn;
    return () => {
      if (this.#offered.get(owner)?.turn === turn) this.#end(owner);
    };
  }

  /** The window of the source has changed. */
  notify(): void {
    for (const { ladder } of this.#offered.values()) ladder.notify();
  }

  /** The publish is over. */
  release(): void {
    for (const { ladder } of this.#offered.values()) ladder.release();
  }

  /** Memory is needed for the source. False: there is nothing to give. */
  giveWay(): boolean {
    let hasGiven = false;
    for (const { ladder } of this.#offered.values()) hasGiven = ladder.giveWay() || hasGiven;
    return hasGiven;
  }

  /** Over for good. */
  end(): void {
    for (const owner of this.#offered.keys()) this.#end(owner);
  }

  #begin(
    owner: string,
    { profile, options, plugin }: { profile: RenditionProfile; options: RenditionOptions; plugin: string },
  ): void {
    const { clock, log, output, memory, playbackId, streamId } = this.#options;
    const own = log.with({ plugin, rendition: profile.name });
    const encoding = new PluginEncoding({
      ...{ clock, log: own, encode: options.encode },
      onGivenUp: () => this.#end(owner),
    });
    const ladder = new LiveLadder({
      ...{ playbackId, streamId, profiles: [profile], clock, memory, maker: encoding },
      source: output.window,
      playlists: output.variants(1, owner),
      config: output.config,
      log: (line) => own.warn(line, { streamId }),
    });
    this.#names.add(owner);
    this.#offered.set(owner, { ladder, encoding, turn: 0, isWanted: true });
    output.offer(ladder, owner);
    ladder.attach({});
    ladder.begin();
  }

  #end(owner: string): void {
    const one = this.#offered.get(owner);
    if (one === undefined) return;
    this.#offered.delete(owner);
    this.#options.output.offer(undefined, owner);
    one.ladder.end();
  }
}

interface Offered {
  readonly ladder: LiveLadder;
  readonly encoding: PluginEncoding;
  /** Which offer counts. */
  turn: number;
  /** The publish that runs offers it. */
  isWanted: boolean;
}

function checkedProfile({
  name,
  width,
  height,
  bitrate,
  frameRate,
  encode,
}: RenditionOptions): RenditionProfile {
  const isBetween = (value: number, least: number, greatest: number) =>
    Number.isInteger(value) && value >= least && value <= greatest;
  if (!isBetween(width, 2, mostSide) || !isBetween(height, 2, mostSide))
    throw new RangeError(`a rendition has 2 to ${mostSide} pixels in each direction`);
  if (!isBetween(bitrate, 1000, mostBitrate)) throw new RangeError('a rendition has at least 1000 bit/s');
  if (frameRate !== undefined && !(frameRate >= 0.1 && frameRate <= mostRate))
    throw new RangeError(`a rendition has 0.1 to ${mostRate} pictures a second`);
  if (typeof encode !== 'function') throw new RangeError('a rendition needs a function that encodes it');
  return { name: checkedName(name), width, height, bitrate, fps: frameRate ?? 0 };
}

/** At one time, and in all while the broadcast is on the air. */
const most = 4;
const mostNames = 16;
const mostSide = 8192;
/** bit/s */
const mostBitrate = 1_000_000_000;
const mostRate = 240;
