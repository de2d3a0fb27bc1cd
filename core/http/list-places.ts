import { Fault } from '../base/fault.ts';

/** Lists of one account that are made at one time: long ones, which keep their place until they are sent if they are large, and others. */
const mostAtOnce = { long: 8, short: 32 };

interface Places {
  taken: number;
  readonly waiting: Set<() => void>;
}

const known = new Map<string, Places>();

/**
 * A place for a list, in the order of asking; the answer gives it back. What lists hold in memory is bounded: the others of the
 * account wait. Fault `store.busy` (503) when the client has left.
 */
export async function listPlace(
  account: string,
  { kind, signal }: { kind: keyof typeof mostAtOnce; signal: AbortSignal },
): Promise<() => void> {
  if (signal.aborted) throw left;
  const name = `${kind} ${account}`;
  const places = known.get(name) ?? { taken: 0, waiting: new Set() };
  known.set(name, places);
  if (places.taken < mostAtOnce[kind]) places.taken += 1;
  else await turn(places, signal);
  let isBack = false;
  return () => {
    if (isBack) return;
    isBack = true;
    const [next] = places.waiting;
    if (next) return next();
    places.taken -= 1;
    if (places.taken === 0) known.delete(name);
  };
}

/** The place goes from one to the other. */
function turn({ waiting }: Places, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const begin = () => {
    waiting.delete(begin);
    signal.removeEventListener('abort', leave);
    resolve();
  };
  const leave = () => {
    waiting.delete(begin);
    reject(left);
  };
  waiting.add(begin);
  signal.addEventListener('abort', leave, { once: true });
  return promise;
}

/** Nobody reads it. */
const left = new Fault('store.busy', { status: 503, message: 'The client has left.' });
