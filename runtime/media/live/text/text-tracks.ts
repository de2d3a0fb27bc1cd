import type { Subtitles } from '../../../../core/hls/playlist.ts';
import { MediaPlaylist, type MediaPlaylistOptions } from '../media-playlist.ts';
import { textPlaylistName } from '../names.ts';
import { TextTrack } from './text-track.ts';

/** Text tracks of one broadcast. No number is given to another track, so none of their names ever stands for something else. */
export class TextTracks {
  /** One for each track. */
  readonly playlists: MediaPlaylist[] = [];
  /** Grows with everything that changes which tracks are listed, and how. */
  version = 0;
  readonly #options: TextTracksOptions;
  readonly #tracks: TextTrack[] = [];
  /** The part that is finished next. */
  #next = { sequence: 0, part: 0 };

  constructor(options: TextTracksOptions) {
    this.#options = options;
  }

  /** As the multivariant playlist lists them. */
  get listed(): readonly Subtitles[] {
    return this.#tracks
      .filter(({ isListed }) => isListed)
      .map(({ number, name, language, isDefault }) => ({
        ...{ name, language, isDefault },
        uri: textPlaylistName(number),
      }));
  }

  /** Lists a track; one that was listed before goes on. Throws RangeError where there can be none of this name. */
  open({ name, language, isDefault }: Omit<Subtitles, 'uri'>): TextTrack {
    const known = this.#tracks.find((track) => track.name === name);
    if (known !== undefined && (known.isListed || known.language !== language))
      throw new RangeError(`there is a text track ${name} already`);
    const track = known ?? this.#add(name, language);
    track.isDefault = isDefault;
    track.isListed = true;
    this.version += 1;
    return track;
  }

  close(track: TextTrack): void {
    track.isListed = false;
    this.version += 1;
  }

  /** Another publish begins: what it does not open again is not listed any more. */
  unlist(): void {
    for (const track of this.#tracks) if (track.isListed) this.close(track);
  }

  /** The window has changed: fixes what the parts that are new say. */
  advance(): void {
    if (this.#tracks.length === 0) return;
    const { window } = this.#options;
    const { nextSequence, open } = window;
    const from = Math.max(this.#next.sequence, nextSequence - mostNew);
    for (let sequence = from; sequence <= nextSequence; sequence += 1) {
      const isBegun = sequence === this.#next.sequence;
      let start = window.segment(sequence)?.time ?? 0;
      for (const [index, { duration }] of window.segment(sequence)?.parts.entries() ?? []) {
        const end = start + duration * 1000;
        if (!isBegun || index >= this.#next.part)
          for (const track of this.#tracks) track.finish({ sequence, start, end });
        start = end;
      }
    }
    for (const track of this.#tracks) track.trim();
    this.#next = { sequence: nextSequence, part: open?.parts.length ?? 0 };
  }

  #add(name: string, language: string): TextTrack {
    const { window, prefix, clock, config, broadcast } = this.#options;
    if (this.#tracks.length === mostTracks)
      throw new RangeError(`a broadcast has at most ${mostTracks} text tracks`);
    if (this.#tracks.length === 0)
      this.#next = { sequence: window.nextSequence, part: window.open?.parts.length ?? 0 };
    const number = this.#tracks.length + 1;
    const track = new TextTrack({ window, prefix, number, name, language });
    this.#tracks.push(track);
    const { files } = track;
    const playlist = { clock, window, name: textPlaylistName(number), files, config, broadcast };
    this.playlists.push(new MediaPlaylist(playlist));
    return track;
  }
}

export interface TextTracksOptions
  extends Pick<MediaPlaylistOptions, 'clock' | 'window' | 'config' | 'broadcast'> {
  /** What the names of the files of the broadcast begin with. */
  readonly prefix: string;
}

/** Of one broadcast. Their names have one digit. */
const mostTracks = 8;
/** Segments that begin between two changes of a window: a gap, and one behind it. */
const mostNew = 2;
