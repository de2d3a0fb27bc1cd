/**
 * The API key that a sign-in code makes. Undefined: it is of another account than `own`, the key that the reader is signed in with, and the
 * reader stays there; whoever sent the link could want them to type secrets into an account of the sender. Throws a sentence.
 */
export async function freshKey(code, { own }) {
  const answer = await ask('POST', '/api/sign-in', { body: { code } });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok)
    throw new Error(body.errors?.join(' ') ?? 'The server does not take this link now. Try again.');
  const { key } = body;
  const [mine, theirs] = await Promise.all([own && currentOf(own), currentOf(key)]);
  if (!mine || mine.userId === theirs?.userId || confirm(question)) return key;
  if (theirs?.id) await ask('DELETE', `/api/api-token/${theirs.id}`, { key });
  return undefined;
}

const question =
  'This link signs you in to another account than the one that you use now. Only go on if you asked for the link yourself.';

/** What a key is; undefined where the server does not take it. */
async function currentOf(key) {
  const answer = await ask('GET', '/api/api-token/current', { key });
  return answer.ok ? answer.json() : undefined;
}

function ask(method, path, { key, body }) {
  return fetch(path, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Error('The server does not answer. Is it running, and can this browser reach it?');
  });
}
