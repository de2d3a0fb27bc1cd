import { codeBlock, element } from './schema.js';

/** Longest an answer is read, ms; an event stream has no end. */
const patience = 10_000;
/** Most characters of an answer that are shown. */
const most = 100_000;

/** A form that sends a request to this server and shows what comes. */
export function tryIt({ method, path, operation, parameters, key }) {
  const inputs = parameters.map((parameter) => ({
    ...parameter,
    input: element('input', {
      name: parameter.name,
      placeholder: parameter.in === 'path' ? 'required' : '',
      autocomplete: 'off',
      spellcheck: 'false',
    }),
  }));
  const media = operation.requestBody?.content?.['application/json'];
  const body = media && element('textarea', { rows: 8, spellcheck: 'false', 'aria-label': 'Body' });
  if (body) body.value = JSON.stringify(media.example ?? {}, null, 2);
  const answer = element('div', { class: 'answer', 'aria-live': 'polite' });
  const send = element('button', { type: 'submit' }, 'Send');

  const submit = async (event) => {
    event.preventDefault();
    send.disabled = true;
    answer.replaceChildren(element('p', {}, 'Waiting …'));
    try {
      const request = requestOf({ method, path, inputs, key: operation.security?.length ? key() : '' });
      answer.replaceChildren(...(await shown(request, body?.value)));
    } catch (error) {
      answer.replaceChildren(element('p', { class: 'problem' }, String(error.message ?? error)));
    } finally {
      send.disabled = false;
    }
  };
  return element(
    'form',
    { submit },
    inputs.map(({ name, in: place, input }) =>
      element('label', {}, element('span', {}, element('code', {}, name), ` ${place}`), input),
    ),
    body ?? '',
    send,
    answer,
  );
}

function requestOf({ method, path, inputs, key }) {
  const query = new URLSearchParams();
  const headers = new Headers();
  let filled = path;
  for (const { name, in: place, input } of inputs) {
    const { value } = input;
    if (place === 'path') {
      if (value === '') throw new Error(`${name} is needed.`);
      filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    } else if (value !== '' && place === 'query') query.set(name, value);
    else if (value !== '') headers.set(name, value);
  }
  if (key) headers.set('authorization', `Bearer ${key}`);
  const search = query.size > 0 ? `?${query}` : '';
  return { method, url: `${filled}${search}`, headers };
}

async function shown({ method, url, headers }, body) {
  const began = performance.now();
  const response = await fetch(url, {
    method: method.toUpperCase(),
    headers,
    body: method === 'get' ? undefined : body,
    signal: AbortSignal.timeout(patience),
  });
  const took = Math.round(performance.now() - began);
  const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
  return [
    element(
      'p',
      {},
      element('strong', { class: response.ok ? 'good' : 'bad' }, `${response.status} ${response.statusText}`),
      ` in ${took} ms`,
    ),
    element('details', {}, element('summary', {}, 'Headers'), codeBlock(lines)),
    ...(await bodyOf(response)),
  ];
}

async function bodyOf(response) {
  const type = response.headers.get('content-type') ?? '';
  if (!response.body || type === '') return [];
  if (!/json|text|mpegurl|javascript/.test(type)) {
    await response.body.cancel();
    return [element('p', {}, `${type}, not shown.`)];
  }
  const text = await textOf(response.body);
  try {
    return [codeBlock(JSON.parse(text))];
  } catch {
    return [codeBlock(text)];
  }
}

/** What comes until there is no more, it is too much, or it takes too long. */
async function textOf(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    while (text.length < most) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
    await reader.cancel();
  } catch {
    // An answer without end: what has come until now is shown.
  }
  return text.slice(0, most);
}
