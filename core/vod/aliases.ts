import { Fault } from '../base/fault.ts';
import { SingleFlight } from '../base/single-flight.ts';
import { within } from '../base/timing.ts';
import type { Clock } from '../ports/clock.ts';

/** Other names of what can be watched. */
export interface PlaybackAliases {
  /**
   * The id that an alias stands for: a playback id, or the id of a session or asset. Undefined for what is none of its aliases.
   * Asked only for names that nothing has. Answers are kept for some seconds. Faults go to the viewer.
   */
  find(alias: string): Promise<string | undefined>;
}

/** How long an answer is kept, ms: players ask for an alias several times a second. */
const keptFor = 10_000;
/** Aliases in memory, and names that are none; of more, those asked first go. */
const maxKept = 2000;
/** Characters of an alias. */
const maxLength = 200;
/** Names that are looked up at one time, and requests that wait for them: anybody can invent names. */
const limits = { running: 100, waiting: 10_000 };
/** Of one look, ms. */
const patience = 5000;

/** Finds things by their own id, and then by what it may be an alias of. */
export type FindByName = <T>(
  name: string,
  find: (id: string) => Promise<T | undefined>,
) => Promise<T | undefined>;

/** Without aliases it costs nothing. Fault `server.busy` (503): too many names are looked up, or one takes too long. */
export function findByName(options: { aliases: readonly PlaybackAliases[]; clock: Clock }): FindByName {
  const { aliases, clock } = options;
  if (aliases.length === 0) return (name, find) => find(name);
  const known = new Map<string, { readonly id: string | undefined; readonly until: number }>();
  const shared = new SingleFlight<string | undefined>(limits);

  const ask = async (alias: string): Promise<string | undefined> => {
    for (const one of aliases) {
      const id = await one.find(alias);
      if (id !== undefined) return id;
    }
    return undefined;
  };
  const look = async (alias: string): Promise<string | undefined> => {
    const id = await within(ask(alias), { ms: patience, clock, late: busy });
    known.delete(alias);
    known.set(alias, { id, until: clock.now() + keptFor });
    if (known.size > maxKept) known.delete(known.keys().next().value as string);
    return id;
  };
  const fresh = (alias: string) => {
    const kept = known.get(alias);
    return kept && kept.until > clock.now() ? kept : undefined;
  };

  return async (name, find) => {
    // For the requests of a player that goes by an alias: its own name would be looked up in vain each time.
    const kept = fresh(name)?.id;
    const soon = kept === undefined ? undefined : await find(kept);
    if (soon !== undefined) return soon;
    const own = await find(name);
    if (own !== undefined || name.length > maxLength) return own;
    const before = fresh(name);
    const id = before ? before.id : await shared.wait(name, { signal: never, work: () => look(name) });
    if (id === 'full') throw busy();
    return id === undefined || id === name || id === kept ? undefined : find(id);
  };
}

const never = new AbortController().signal;

function busy(): Fault {
  return new Fault('server.busy', {
    status: 503,
    message: 'Too many names are looked up at the moment. Try again.',
    retryAfter: 1,
  });
}
