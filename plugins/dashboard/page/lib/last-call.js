import { sentence } from './api.js';

/** A write of a page that may be closing: the browser brings it to its end. Throws a sentence, but not for what is gone already. */
export async function lastCall(method, path, { key, body }) {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body && { 'content-type': 'application/json' }),
  };
  const answer = await fetch(path, {
    ...{ method, keepalive: true, headers },
    ...(body && { body: JSON.stringify(body) }),
  }).catch((error) => {
    throw new Error(sentence(error));
  });
  if (answer.ok || answer.status === 404) return;
  const { errors } = await answer.json().catch(() => ({}));
  throw new Error(errors?.[0] ?? `HTTP ${answer.status}`);
}
