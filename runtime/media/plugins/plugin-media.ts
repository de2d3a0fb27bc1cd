import type { Log } from '../../../core/base/log.ts';
import type { Counter, Family, Metrics } from '../../../core/base/metrics.ts';
import type { MediaSubscriber, PublishedBroadcast } from '../../../core/plugin/media.ts';
import type { PublishGrant } from '../../../core/ports/media.ts';
import { PluginLoad } from './plugin-load.ts';
import { type BroadcastOffers, PluginPublish } from './plugin-publish.ts';
import { PluginTaps } from './plugin-taps.ts';

/** A plugin that wants to see media. */
export interface MediaWatcher {
  /** Its id. */
  readonly plugin: string;
  open(broadcast: PublishedBroadcast): MediaSubscriber | undefined;
}

export interface PluginMediaOptions {
  readonly watchers: readonly MediaWatcher[];
  readonly log: Log;
  readonly metrics: Metrics;
  /** ms of a steady clock, for how long calls take. */
  readonly timer?: () => number;
  /** What a plugin threw. */
  tell(plugin: string, error: unknown): void;
}

/** The plugins of this node that see media. A plugin that fails loses its subscription, and nothing else changes. */
export class PluginMedia {
  readonly #watchers: readonly { readonly watcher: MediaWatcher; readonly load: PluginLoad }[];
  readonly log: Log;
  readonly #failures: Family<Counter>;
  readonly #timer: () => number;
  readonly #tell: PluginMediaOptions['tell'];

  constructor({ watchers, log, metrics, tell, timer = () => performance.now() }: PluginMediaOptions) {
    this.#tell = tell;
    this.log = log;
    this.#timer = timer;
    this.#failures = metrics.counter(
      'millrace_plugin_media_failures_total',
      'Subscriptions to broadcasts that ended because the plugin threw.',
    );
    const slow = metrics.counter(
      'millrace_plugin_media_slow_total',
      'Times that a plugin took more than a fifth of a core over 10 s for the media that it was given.',
    );
    this.#watchers = watchers.map((watcher) => {
      const { plugin } = watcher;
      // Shown from the first, as 0.
      this.#failures.with({ plugin });
      const count = slow.with({ plugin });
      let warned = Number.NEGATIVE_INFINITY;
      const onSlow = (share: number) => {
        count.add();
        if (timer() - warned < quiet) return;
        warned = timer();
        log.warn('a plugin slows this node down: it takes too long for the media that it is given', {
          ...{ plugin, cpu: `${Math.round(share * 100)} %` },
        });
      };
      return { watcher, load: new PluginLoad({ onSlow }) };
    });
    metrics.readings('millrace_plugin_media_seconds_total', {
      help: 'Time that plugins took for the media that they were given.',
      read: () =>
        this.#watchers.map(({ watcher: { plugin }, load }) => ({
          labels: { plugin },
          value: Math.round(load.total) / 1000,
        })),
    });
  }

  /** Asks every plugin what it wants of a publish. Undefined: nothing. */
  attach(grant: PublishGrant, offers: BroadcastOffers): PluginTaps | undefined {
    const taps = new PluginTaps({ timer: this.#timer });
    for (const { watcher, load } of this.#watchers) {
      const { plugin } = watcher;
      const publish = new PluginPublish(grant, { plugin, offers });
      const fail = (error: unknown) => {
        const { streamId, sessionId } = grant;
        this.#failures.with({ plugin }).add();
        this.#tell(plugin, error);
        this.log.warn('a plugin failed, and sees nothing more of this publish', {
          ...{ plugin, streamId, sessionId },
        });
      };
      taps.add(publish, { load, fail, open: () => watcher.open(publish.shown) });
    }
    return taps.isEmpty ? undefined : taps;
  }
}

/** ms between two warnings about one plugin. */
const quiet = 60_000;
