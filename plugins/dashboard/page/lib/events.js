import { signal } from '@preact/signals';
import { allows, client, key, keyRefused } from './api.js';

/** Between two looks at whether the server answers, ms. */
const lookEvery = 2000;
/** Events that are kept for pages that open later. */
const kept = 200;

/** The newest events of the account, newest first. */
export const recent = signal([]);
/** The server did not answer two looks in a row: what is shown may be old. */
export const isLost = signal(false);

const listeners = new Set();
let last;
let running;
let failedLooks = 0;
/** What the key may do is known, or cannot be. */
let isReady = false;

/** Follows the events of whoever is signed in, from now on. */
export function startEvents() {
  isReady = true;
  follow();
}

/** Calls `listener(event)` for each event from now on. Returns what ends that. */
export function onEvent(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** One stream of events feeds all pages. A hidden tab closes it, and catches up when it is seen again. */
function follow() {
  running?.abort();
  running = undefined;
  if (!isReady || document.hidden || !key.value || !allows('GET', 'events')) return;
  const controller = new AbortController();
  running = controller;
  void listen(controller.signal);
}

async function listen(signal) {
  while (!signal.aborted) {
    try {
      for await (const event of client.value.events({ signal, ...(last && { after: last }) })) take(event);
    } catch (error) {
      if (signal.aborted) return;
      // What came between is older than the server keeps: pages load anew what they show.
      if (error?.status === 410) last = undefined;
      else if (error?.status === 401) return keyRefused();
      else if (error?.status === 403) return;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function take(event) {
  last = event.id;
  recent.value = [event, ...recent.value].slice(0, kept);
  for (const listener of listeners) listener(event);
}

/** The client reconnects by itself and does not say so: a health check does, while somebody looks. */
async function watchServer() {
  if (document.hidden) return;
  const answered = await fetch('/health/live', { signal: AbortSignal.timeout(lookEvery) }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (answered && failedLooks > 0)
    for (const listener of listeners) listener({ event: 'dashboard.reconnected' });
  failedLooks = answered ? 0 : failedLooks + 1;
  isLost.value = failedLooks > 1;
}

key.subscribe(() => {
  last = undefined;
  recent.value = [];
  follow();
});
document.addEventListener('visibilitychange', follow);
setInterval(watchServer, lookEvery);
