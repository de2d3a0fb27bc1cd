import { computed, signal } from '@preact/signals';
import { MillraceError, millrace } from 'millrace/client';
import { mayDo } from './access.js';
import { noteDate } from './clock.js';
import { randomId } from './random-id.js';

/** The reader's API key; undefined: not signed in. Kept for the tab, or for the browser if they asked for it. */
export const key = signal(
  sessionStorage.getItem('millrace.key') ?? localStorage.getItem('millrace.key') ?? undefined,
);

/** What the key may do: the answer of `GET /api/api-token/current`; undefined until it is known. */
export const access = signal(undefined);

/** Why the reader is asked for a key, where that is not plain. */
export const signInNotice = signal(undefined);

/** Calls the API as the reader. */
export const client = computed(() => millrace({ baseUrl: location.origin, key: key.value }));

/** Remembers a key when the server takes it; throws the sentence why not. `isOwn`: it was made for this tab alone. */
export async function signIn(candidate, { isKept, isOwn = false }) {
  const tried = millrace({ baseUrl: location.origin, key: candidate });
  access.value = await (await tried.request({ method: 'GET', path: '/api/api-token/current' })).json();
  sessionStorage.setItem('millrace.key', candidate);
  if (isKept) localStorage.setItem('millrace.key', candidate);
  if (isOwn) sessionStorage.setItem('millrace.own', candidate);
  signInNotice.value = undefined;
  key.value = candidate;
}

/**
 * Forgets the key. One that was made for this tab is deleted, where it may do that: nobody else has it. `pending`: what has to be done
 * with it before.
 */
export function signOut(pending) {
  const { id } = access.value ?? {};
  const own = client.value;
  const isOwn = sessionStorage.getItem('millrace.own') === key.value;
  const remove = () => own.request({ method: 'DELETE', path: `/api/api-token/${id}` });
  if (isOwn && id && allows('DELETE', `api-token/${id}`)) void pending.then(remove).catch(() => undefined);
  forgetKey();
}

function forgetKey() {
  sessionStorage.removeItem('millrace.own');
  sessionStorage.removeItem('millrace.key');
  localStorage.removeItem('millrace.key');
  access.value = undefined;
  key.value = undefined;
}

/** The server no longer takes the key. */
export function keyRefused() {
  forgetKey();
  signInNotice.value =
    'Your API key no longer works: it was deleted, or has expired. Sign in with another one.';
}

// Whoever signs out of a key that the browser keeps does so in all tabs.
addEventListener('storage', ({ key: name, oldValue, newValue }) => {
  if (name === 'millrace.key' && newValue === null && oldValue === key.value) forgetKey();
});

/** `..` in a path, which an id from the address of the page could hold, would make it the path of another call. */
const wayOut = /[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/**
 * One call of the API: its JSON, or undefined where there is no body. Throws a `MillraceError`, whose `errors` are sentences for the
 * reader. A key that the server no longer takes signs the reader out.
 */
export async function call(method, path, { body, query, signal } = {}) {
  return (await callWhole(method, path, { body, query, signal })).body;
}

/** As `call`, with what the headers say: the address of the next page of a list, and how many there are where `count=1` asked. */
export async function callWhole(method, path, { body, query, signal } = {}) {
  if (wayOut.test(path))
    throw new MillraceError({
      status: 404,
      code: 'dashboard.no_id',
      errors: ['There is nothing of this id.'],
    });
  const used = key.value;
  try {
    const idempotencyKey = method === 'POST' ? randomId() : undefined;
    const response = await client.value.request({ method, path, body, query, signal, idempotencyKey });
    noteDate(response.headers.get('date'));
    const text = await response.text();
    const count = response.headers.get('x-total-count');
    const next = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    return {
      body: text === '' ? undefined : JSON.parse(text),
      next: next && new URL(next, location.origin),
      count: count === null ? undefined : Number(count),
    };
  } catch (error) {
    if (error instanceof MillraceError && error.status === 401 && used === key.value) keyRefused();
    throw error;
  }
}

/** What went wrong, as a sentence. */
export function sentence(error) {
  if (error instanceof MillraceError) return error.message;
  return 'The server does not answer. Is it running, and can this browser reach it?';
}

/** Whether the key may do this: `allows('POST', 'stream')`, `allows('DELETE', 'asset/:id')`. */
export function allows(method, path) {
  return !access.value || mayDo(access.value, { method, path });
}
