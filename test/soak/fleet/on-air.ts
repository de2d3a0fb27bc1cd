import { broadcast } from '../../kit/publisher/broadcast.ts';
import type { Clip } from '../../kit/publisher/flv-file.ts';
import type { Pacer } from '../../kit/publisher/pacer.ts';
import type { StreamEntry } from './ledger.ts';

/** Connects again after a lost connection or a refusal, ms. */
const pause = 500;

/** Broadcasts to a stream with whatever key it has, until told to stop. */
export function onAir(entry: StreamEntry, options: { rtmpPort: number; clip: Clip; pacer: Pacer }): OnAir {
  const { rtmpPort, clip, pacer } = options;
  let isStopping = false;
  let current: ReturnType<typeof broadcast> | undefined;
  const counts = { connections: 0, refusals: 0, dropped: 0 };
  const ended = (async () => {
    while (!isStopping) {
      const url = `rtmp://127.0.0.1:${rtmpPort}/live/${entry.streamKey}`;
      current = broadcast({ url, clip, pacer, startAt: Math.random() * clip.duration });
      current.started.then(
        () => (counts.connections += 1),
        () => {},
      );
      const end = await current.ended;
      counts.dropped += current.stats.dropped;
      if (end.cause === 'refused') counts.refusals += 1;
      if (!isStopping) await Bun.sleep(pause);
    }
  })();
  return {
    counts,
    async stop() {
      isStopping = true;
      await current?.stop({ clean: true });
      await ended;
    },
  };
}

export interface OnAir {
  readonly counts: { connections: number; refusals: number; dropped: number };
  stop(): Promise<void>;
}
