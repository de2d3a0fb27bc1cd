import { plainText } from '../../../core/base/plain-text.ts';
import { checkedLanguage, checkedName } from '../../../core/hls/subtitles-name.ts';
import type {
  OfferedRendition,
  TextTrack as PublicTrack,
  PublishedBroadcast,
  RenditionOptions,
  TextTrackOptions,
} from '../../../core/plugin/media.ts';
import type { PublishGrant } from '../../../core/ports/media.ts';
import type { TextTrack } from '../live/text/text-track.ts';
import type { TextTracks } from '../live/text/text-tracks.ts';

/** What plugins may add to a broadcast. */
export interface BroadcastOffers {
  readonly textTracks: TextTracks;
  /** Returns the function that takes it back. Throws RangeError. */
  rendition(options: RenditionOptions, source: { readonly plugin: string }): () => void;
}

/** One publish for one plugin: what it is shown, and what it has added. */
export class PluginPublish {
  readonly shown: PublishedBroadcast;
  /** What is wrong, by its own word. */
  issue: string | undefined;
  readonly #plugin: string;
  readonly #offers: BroadcastOffers;
  readonly #tracks = new Set<TextTrack>();
  readonly #renditions = new Set<() => void>();
  #isOver = false;

  constructor(grant: PublishGrant, { plugin, offers }: { plugin: string; offers: BroadcastOffers }) {
    this.#plugin = plugin;
    this.#offers = offers;
    const { streamId, sessionId, playbackId, account = '', fields = {} } = grant;
    this.shown = {
      ...{ streamId, sessionId, playbackId, account, fields },
      issue: (text) => {
        if (!this.#isOver) this.issue = text === undefined ? undefined : plainText(text.slice(0, mostIssue));
      },
      textTrack: (options) => this.#textTrack(options),
      rendition: (options) => this.#rendition(options),
    };
  }

  /** Something of it is shown, though the plugin does not subscribe. */
  get isUsed(): boolean {
    return this.issue !== undefined || this.#tracks.size > 0 || this.#renditions.size > 0;
  }

  /** The publish is over. Its tracks and renditions stay listed until the next one begins. */
  end(): void {
    this.#isOver = true;
    for (const track of this.#tracks) track.drop();
  }

  /** The plugin has failed: it adds nothing to the broadcast any more. */
  withdraw(): void {
    this.end();
    this.issue = undefined;
    for (const track of this.#tracks) this.#offers.textTracks.close(track);
    for (const close of this.#renditions) close();
    this.#tracks.clear();
    this.#renditions.clear();
  }

  #textTrack(options: TextTrackOptions): PublicTrack {
    this.#mustRun();
    const { textTracks } = this.#offers;
    const track = textTracks.open(checkedTrack(options));
    this.#tracks.add(track);
    return {
      cue: (cue) => !this.#isOver && this.#tracks.has(track) && track.add(cue),
      close: () => {
        if (this.#isOver || !this.#tracks.delete(track)) return;
        track.drop();
        textTracks.close(track);
      },
    };
  }

  #rendition(options: RenditionOptions): OfferedRendition {
    this.#mustRun();
    const close = this.#offers.rendition(options, { plugin: this.#plugin });
    this.#renditions.add(close);
    return {
      close: () => {
        if (this.#renditions.delete(close)) close();
      },
    };
  }

  #mustRun(): void {
    if (this.#isOver) throw new RangeError('this publish is over');
  }
}

/** As it stands in a playlist. Throws RangeError. */
function checkedTrack({ name, language, isDefault = false }: TextTrackOptions) {
  return { name: checkedName(name), language: checkedLanguage(language), isDefault: isDefault === true };
}

/** Characters of an issue. */
const mostIssue = 300;
