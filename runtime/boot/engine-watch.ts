import type { Log } from '../../core/base/log.ts';
import { every } from '../../core/base/timing.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** How often engines are asked, ms. */
const askInterval = 1_000;
/** How long an engine may not answer before the node is not ready, ms. */
export const engineSilence = 5_000;

/**
 * Asks engines once a second whether they are there. One that has not answered for some seconds is silent, until it
 * answers: short of that nobody is told, so that a hiccup turns no traffic away. One question at a time to each.
 */
export function engineWatch(options: {
  /** Name of the engine → a question that it answers at once when it can. */
  engines: Readonly<Record<string, () => Promise<unknown>>>;
  clock: Clock;
  log: Log;
}): EngineWatch {
  const { clock, log } = options;
  const engines = Object.entries(options.engines).map(([name, ask]) => ({
    name,
    ask,
    answeredAt: clock.now(),
    isAsked: false,
    isSilent: false,
  }));
  const look = () => {
    for (const engine of engines) {
      if (!engine.isSilent && clock.now() - engine.answeredAt >= engineSilence) {
        engine.isSilent = true;
        log.error('an engine does not answer: this node is not ready', { engine: engine.name });
      }
      if (engine.isAsked) continue;
      engine.isAsked = true;
      engine.ask().then(
        () => {
          engine.isAsked = false;
          engine.answeredAt = clock.now();
          if (!engine.isSilent) return;
          engine.isSilent = false;
          log.info('an engine answers again', { engine: engine.name });
        },
        () => {
          engine.isAsked = false;
        },
      );
    }
  };
  return {
    silent: () => engines.filter(({ isSilent }) => isSilent).map(({ name }) => name),
    stop: every(askInterval, { clock, work: look }),
  };
}

export interface EngineWatch {
  /** Names of those that do not answer. */
  silent(): readonly string[];
  readonly stop: Stop;
}
