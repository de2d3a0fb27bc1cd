import { codeBlock, element, fields, line, resolved, useDocument, words } from './schema.js';
import { tryIt } from './try.js';

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const find = (id) => document.getElementById(id);

const openApi = await read().catch((error) => {
  find('routes').replaceChildren(element('p', { class: 'problem' }, `/openapi.json: ${error.message}`));
  throw error;
});
useDocument(openApi);
document.title = `${openApi.info.title} API ${openApi.info.version}`;
find('intro').replaceChildren(...introduction(openApi.info));

const groups = openApi.tags.map((tag) => ({ tag, routes: routesOf(tag.name) }));
find('routes').replaceChildren(...groups.map(groupSection));
find('index').replaceChildren(...groups.map(groupIndex));
find('search').addEventListener('input', search);
addEventListener('hashchange', reveal);
addEventListener('keydown', (event) => {
  const isTyping = /^(input|textarea)$/i.test(event.target.tagName);
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    find('search').focus();
  }
});
reveal();

async function read() {
  const answer = await fetch('/openapi.json');
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  return answer.json();
}

function introduction({ version, summary, description }) {
  const [first, ...rest] = description.split('\n').filter((text) => text !== '');
  return [
    element('p', { class: 'lead' }, `${summary}. Version ${version}. `),
    element('p', {}, words(first)),
    element(
      'ul',
      {},
      rest.map((text) => element('li', {}, words(text.replace(/^- /, '')))),
    ),
    element(
      'p',
      {},
      'For programs: ',
      element('a', { href: '/openapi.json' }, '/openapi.json'),
      ' (OpenAPI 3.1).',
    ),
  ];
}

function routesOf(tag) {
  return Object.entries(openApi.paths).flatMap(([path, own]) =>
    methods
      .filter((method) => own[method]?.tags?.includes(tag))
      .map((method) => ({ method, path, operation: own[method] })),
  );
}

function groupIndex({ tag, routes }) {
  return element(
    'section',
    { 'data-group': tag.name },
    element('h2', {}, tag.name),
    routes.map(({ method, path, operation }) =>
      element(
        'a',
        { href: `#${operation.operationId}`, 'data-id': operation.operationId },
        badge(method),
        path,
      ),
    ),
  );
}

function groupSection({ tag, routes }) {
  return element(
    'section',
    { 'data-group': tag.name },
    element('h2', {}, tag.name, ' ', element('small', {}, tag.description)),
    routes.map(routeDetails),
  );
}

function routeDetails({ method, path, operation }) {
  const isKeyed = (operation.security ?? []).length > 0;
  const details = element(
    'details',
    { class: 'route', id: operation.operationId, 'data-id': operation.operationId },
    element(
      'summary',
      {},
      badge(method),
      element('code', { class: 'path' }, path),
      isKeyed ? element('span', { class: 'keyed', title: 'An API key is needed' }, 'key') : '',
      element('span', { class: 'what' }, words(operation.summary)),
    ),
  );
  // Filled when it is opened: a hundred routes with all their schemas would take a while to build.
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) {
      details.append(...routeBody({ method, path, operation }));
    }
  });
  return details;
}

function routeBody({ method, path, operation }) {
  const parameters = operation.parameters ?? [];
  const media = operation.requestBody?.content?.['application/json'];
  const responses = Object.entries(operation.responses).map(([status, one]) => [status, resolved(one)]);
  const key = () => find('key').value.trim();
  return [
    ...(parameters.length > 0 ? [element('h3', {}, 'Parameters'), parameterList(parameters)] : []),
    ...(media
      ? [
          element('h3', {}, 'Body'),
          element('p', {}, words(operation.requestBody.description)),
          sideBySide(fields(media.schema), media.example),
        ]
      : []),
    element('h3', {}, 'Answers'),
    ...responses.filter(([status]) => status < 400).map(answerPart),
    element('h3', {}, 'Errors'),
    errorTable(responses.filter(([status]) => status >= 400)),
    element('h3', {}, 'Try it'),
    tryIt({ method, path, operation, parameters, key }),
  ];
}

function parameterList(parameters) {
  return element(
    'ul',
    { class: 'fields' },
    parameters.map(({ name, in: place, required, description, schema, content }) => {
      const json = content?.['application/json']?.schema;
      return element(
        'li',
        {},
        line({
          name,
          schema: schema ?? json,
          isRequired: required,
          description: `In the ${place}${json ? ', as JSON' : ''}. ${description ?? ''}`,
        }),
        json ? element('details', {}, element('summary', {}, 'its fields'), fields(json)) : '',
      );
    }),
  );
}

function answerPart([status, { description, headers = {}, content = {} }]) {
  const types = Object.entries(content);
  return element(
    'div',
    { class: 'response' },
    element('p', {}, element('strong', { class: 'good' }, status), ' ', words(description)),
    Object.entries(headers).map(([name, { schema, description: meaning }]) =>
      line({ name, schema, description: `A header. ${meaning ?? ''}` }),
    ),
    types.map(([type, { schema, example }]) =>
      type === 'application/json'
        ? sideBySide(fields(schema), example)
        : element('p', {}, element('code', {}, type)),
    ),
  );
}

function errorTable(responses) {
  const rows = responses.flatMap(([status, { content = {}, description }]) => {
    const examples = Object.entries(content['application/json']?.examples ?? {});
    if (examples.length === 0) return [[status, '', description]];
    return examples.map(([code, { value }]) => [status, code, value.errors[0]]);
  });
  return element(
    'table',
    {},
    rows.map(([status, code, meaning]) =>
      element(
        'tr',
        {},
        element('td', { class: 'bad' }, status),
        element('td', {}, code && element('code', {}, code)),
        element('td', {}, words(meaning)),
      ),
    ),
  );
}

function sideBySide(left, example) {
  return element('div', { class: 'pair' }, left, example === undefined ? '' : codeBlock(example));
}

function badge(method) {
  return element('b', { class: `method ${method}` }, method === 'delete' ? 'DEL' : method.toUpperCase());
}

/** Shows what has all the words that are typed, in path, summary, name, or error code. */
function search() {
  const wanted = find('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const { tag, routes } of groups) {
    let own = 0;
    for (const { method, path, operation } of routes) {
      const text = `${method} ${path} ${operation.operationId} ${operation.summary} ${codesOf(operation)} ${tag.name}`;
      const isShown = wanted.every((word) => text.toLowerCase().includes(word));
      if (isShown) own += 1;
      for (const one of document.querySelectorAll(`[data-id="${operation.operationId}"]`))
        one.hidden = !isShown;
    }
    for (const one of document.querySelectorAll(`[data-group="${tag.name}"]`)) one.hidden = own === 0;
    shown += own;
  }
  find('none').hidden = shown > 0;
}

function codesOf({ responses }) {
  return Object.values(responses)
    .flatMap((one) => Object.keys(resolved(one).content?.['application/json']?.examples ?? {}))
    .join(' ');
}

/** Opens what the address names. */
function reveal() {
  const named = find(decodeURIComponent(location.hash.slice(1)));
  if (!named) return;
  named.open = true;
  named.scrollIntoView();
}
