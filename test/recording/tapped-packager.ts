import { outputDefaults } from '../../runtime/media/live/config.ts';
import { Ingest } from '../../runtime/media/live/ingest.ts';
import { BufferPool } from '../../runtime/media/live/pool.ts';
import { Slabs } from '../../runtime/media/live/slabs.ts';
import { LiveWindow } from '../../runtime/media/live/window.ts';
import { fragmentSize, writeFragment } from '../../runtime/media/mp4/fragment.ts';
import type { GrowingFile } from '../../runtime/media/recording/file/growing-file.ts';
import { FakeClock, send } from '../hls/feed.ts';
import type { FlvTag } from '../hls/flv.ts';

/** Our own packager, whose parts go to the file of a take as well, as they are packaged. */
export class TappedPackager {
  readonly clock = new FakeClock();
  readonly #window: LiveWindow;
  #file: GrowingFile;
  #end = 9000;
  #publishes = 0;

  constructor(file: GrowingFile) {
    this.#file = file;
    const tap = () => this.#file;
    class Tapped extends LiveWindow {
      #parts = 0;
      override begin(init: Parameters<LiveWindow['begin']>[0]): void {
        super.begin(init);
        tap().begin(init);
      }
      override addPart(part: Parameters<LiveWindow['addPart']>[0]): boolean {
        const { runs, wallStart, duration, isIndependent } = part;
        const startsSegment = this.open === undefined;
        const bytes = new Uint8Array(fragmentSize(runs));
        this.#parts += 1;
        writeFragment(bytes, { at: 0, sequence: this.#parts, runs });
        if (!super.addPart(part)) return false;
        tap().part(bytes, { wallStart, duration, isIndependent, startsSegment });
        return true;
      }
    }
    this.#window = new Tapped({
      clock: this.clock,
      pool: new BufferPool({ limit: 64 << 20 }),
      slabs: new Slabs(),
      config: outputDefaults,
    });
  }

  /** What comes from now on goes there. */
  use(file: GrowingFile): void {
    this.#file = file;
  }

  /** One publish, in real time of the clock. */
  publish(tags: readonly FlvTag[], options: { restarted?: boolean } = {}): void {
    this.#publishes += 1;
    if (options.restarted) this.#end = 9000;
    const ingest = new Ingest({
      grant: {
        granted: true,
        token: `t${this.#publishes}`,
        streamId: 's',
        sessionId: 'x',
        playbackId: 'p',
        mediaSequence: 0,
        discontinuitySequence: 0,
        targetDuration: 4,
      },
      clock: this.clock,
      window: this.#window,
      config: outputDefaults,
      memory: undefined,
      delay: undefined,
      origin: Math.ceil(this.#end) + 1000,
      onPlayable: () => {},
      onFatal: (reason) => {
        throw new Error(reason);
      },
    });
    let last = 0;
    for (const { type, timestamp, body } of tags) {
      if (type === 18) continue;
      this.clock.advance(Math.max(0, timestamp - last));
      last = Math.max(last, timestamp);
      send(ingest, type, timestamp >>> 0, body);
    }
    ingest.finish();
    this.#end = Math.max(this.#end, ingest.end);
    this.#file.pause();
  }
}
