import type { Log } from '../../../core/base/log.ts';
import { Metrics } from '../../../core/base/metrics.ts';
import type { MediaSubscriber, PublishedBroadcast } from '../../../core/plugin/media.ts';
import type { OutputConfig } from '../../../runtime/media/live/config.ts';
import { PluginMedia } from '../../../runtime/media/plugins/plugin-media.ts';
import { Feed } from '../../hls/feed.ts';

type Open = (broadcast: PublishedBroadcast) => MediaSubscriber | undefined;

/** A broadcast that these plugins see, by their ids; what they caused to be logged and counted. */
export function watched(plugins: Readonly<Record<string, Open>>, options: WatchedOptions = {}) {
  const { config, timer } = options;
  const lines: string[] = [];
  const write = (level: string) => (message: string, fields?: object) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log: Log = {
    ...{ debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') },
    with: () => log,
  };
  const metrics = new Metrics();
  const watchers = Object.entries(plugins).map(([plugin, open]) => ({ plugin, open }));
  const media = new PluginMedia({
    ...{ watchers, log, metrics, ...(timer && { timer }) },
    tell: (plugin, error) => log.error(String(error), { plugin }),
  });
  const feed = new Feed(config, undefined, undefined, media);
  return {
    feed,
    media,
    lines,
    /** The value of a metric for a plugin. */
    counted: (name: string, plugin: string) =>
      Number(new RegExp(`^${name}{plugin="${plugin}"} (.*)$`, 'm').exec(metrics.text())?.[1]),
  };
}

interface WatchedOptions {
  readonly config?: Partial<OutputConfig>;
  /** ms of a steady clock. */
  readonly timer?: () => number;
}
