import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { Alarm } from './jobs/alarm.ts';

/** A reaction is a few commits. One that takes longer than this many ms waits for something that may never come. */
const hangsAfter = 10_000;

/** Watches the reactions of all plugins for those that hang or fail: the events of their streams wait meanwhile. */
export class ReactionWatch {
  readonly #options: { clock: Clock; log: Log };
  readonly #plugins = new Map<string, Watched>();
  /** In the order in which they began. */
  readonly #running = new Set<Running>();
  readonly #alarm: Alarm;

  constructor(options: { clock: Clock; log: Log }) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#look());
  }

  /** A reaction begins; call what is returned when it ends, however it does. */
  began(plugin: string, event: LoggedEvent): () => void {
    const running: Running = { plugin, event, at: this.#options.clock.now(), isHanging: false };
    this.#running.add(running);
    if (this.#running.size === 1) this.#alarm.setFor(running.at + hangsAfter);
    return () => {
      this.#running.delete(running);
      if (running.isHanging) this.#of(plugin).hanging -= 1;
      if (this.#running.size === 0) this.#alarm.clear();
    };
  }

  /**
   * @param counts.held streams of the plugin that wait for a reaction that failed
   * @param counts.parked reactions that are not tried any more
   */
  failing(plugin: string, counts: { held: number; parked: number }): void {
    Object.assign(this.#of(plugin), counts);
  }

  failed(plugin: string): void {
    this.#of(plugin).failures += 1;
  }

  /** For operators, without ids: everyone may read them. */
  get issues(): string[] {
    return [...this.#plugins].flatMap(([plugin, { hanging, held, parked }]) => [
      ...(hanging > 0
        ? [`Reactions of the plugin ${plugin} do not end: later events wait. The log names them.`]
        : []),
      ...(held > 0
        ? [`Reactions of the plugin ${plugin} fail and are tried again: later events of their streams wait.`]
        : []),
      ...(parked > 0
        ? [
            `Reactions of the plugin ${plugin} failed for a day and are parked (${parked}). GET /api/system/reactions lists them; resume or delete each.`,
          ]
        : []),
    ]);
  }

  measure(metrics: Metrics): void {
    const by = (value: (watched: Watched) => number) => () =>
      [...this.#plugins].map(([plugin, watched]) => ({ labels: { plugin }, value: value(watched) }));
    metrics.readings('millrace_reactions_hanging', {
      help: 'Reactions that have been at work for more than 10 s, by plugin.',
      read: by(({ hanging }) => hanging),
    });
    metrics.readings('millrace_reaction_streams_held', {
      help: 'Streams whose events wait for a reaction that failed, by plugin.',
      read: by(({ held }) => held),
    });
    metrics.readings('millrace_reactions_parked', {
      help: 'Reactions that failed for a day and are not tried any more, by plugin.',
      read: by(({ parked }) => parked),
    });
    metrics.readings('millrace_reaction_failures_total', {
      help: 'Reactions that failed, each try counted, by plugin.',
      read: by(({ failures }) => failures),
    });
  }

  #look(): void {
    const { clock, log } = this.#options;
    for (const running of this.#running) {
      if (running.isHanging) continue;
      if (running.at + hangsAfter > clock.now()) {
        this.#alarm.setFor(running.at + hangsAfter);
        return;
      }
      running.isHanging = true;
      const { plugin, event } = running;
      this.#of(plugin).hanging += 1;
      log.error('a reaction does not end; later events wait for it', {
        ...{ plugin, event: event.id, type: event.type, seconds: hangsAfter / 1000 },
      });
    }
  }

  #of(plugin: string): Watched {
    const watched = this.#plugins.get(plugin) ?? { hanging: 0, held: 0, parked: 0, failures: 0 };
    this.#plugins.set(plugin, watched);
    return watched;
  }
}

interface Running {
  readonly plugin: string;
  readonly event: LoggedEvent;
  /** Epoch ms. */
  readonly at: number;
  isHanging: boolean;
}

interface Watched {
  hanging: number;
  held: number;
  parked: number;
  failures: number;
}
