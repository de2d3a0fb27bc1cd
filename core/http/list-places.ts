import { Fault } from '../base/fault.ts';

/** Long lists of one account that are made, or large ones that are sent, at one time. */
const mostAtOnce = 8;

interface Places {
  taken: number;
  readonly waiting: Set<() => void>;
}

const accounts = new Map<string, Places>();

/**
 * A place for a long list, in the order of asking; the answer gives it back. What such lists hold in memory is bounded: the others of
 * the account wait. Fault `store.busy` (503) when the client has left.
 */
export async function listPlace(account: string, signal: AbortSignal): Promise<() => void> {
  if (signal.aborted) throw left;
  const places = accounts.get(account) ?? { taken: 0, waiting: new Set() };
  accounts.set(account, places);
  if (places.taken < mostAtOnce) places.taken += 1;
  else await turn(places, signal);
  let isBack = false;
  return () => {
    if (isBack) return;
    isBack = true;
    const [next] = places.waiting;
    if (next) return next();
    places.taken -= 1;
    if (places.taken === 0) accounts.delete(account);
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
