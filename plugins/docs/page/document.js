import { exampleOf, samplesOf } from './samples.js';

const methods = ['get', 'post', 'put', 'patch', 'delete'];
const elsewhere =
  'The [guide to the API](/docs/guides/api) explains the objects and how they behave. For programs: [openapi.json](/openapi.json).';
/** Errors of so many calls, as a part of all, are those of keys, bodies and stores: to name them at each call says nothing. */
const common = 1 / 6;

/**
 * `/openapi.json` as the reference shows it: with examples of code, without the repeats for HEAD and OPTIONS and without the files of
 * pages. `calls`: names of the calls that `millrace/client` has.
 */
export function shownDocument(openApi, calls) {
  const [{ url: server }] = openApi.servers;
  const own = ownCodes(openApi);
  const shown = (path) =>
    callsAt(openApi, path).map(([method, operation]) => {
      const samples = samplesOf(operation, { method, path, server, calls });
      const parameters = operation.parameters?.map(offered);
      const words = titled(operation.summary, own(operation));
      return [method, { ...operation, ...words, parameters, 'x-codeSamples': samples }];
    });
  const paths = Object.keys(openApi.paths)
    .map((path) => [path, Object.fromEntries(shown(path))])
    .filter(([, at]) => Object.keys(at).length > 0);
  const used = new Set(paths.flatMap(([, at]) => Object.values(at).flatMap(({ tags }) => tags)));
  return {
    ...openApi,
    info: { ...openApi.info, description: `${openApi.info.description}\n\n${elsewhere}` },
    paths: Object.fromEntries(paths),
    // What the program itself has is what readers look for last.
    tags: openApi.tags
      .filter(({ name }) => used.has(name))
      .sort((a, b) => Number(a.name === 'core') - Number(b.name === 'core'))
      .map((tag) => ({
        ...tag,
        'x-displayName': capital(tag.name),
        description: `${capital(tag.description)}.`,
      })),
  };
}

function callsAt(openApi, path) {
  return Object.entries(openApi.paths[path]).filter(
    ([method, operation]) => methods.includes(method) && !isPageFile(operation),
  );
}

function isPageFile({ responses }) {
  const types = Object.entries(responses)
    .filter(([status]) => status < '300')
    .flatMap(([, { content = {} }]) => Object.keys(content));
  return types.length > 0 && types.every((type) => /^text\/(html|javascript|css)$/.test(type));
}

/** The error codes of a call that few others have. */
function ownCodes(openApi) {
  const codesOf = ({ responses }) =>
    Object.values(responses).flatMap(({ $ref, content }) => {
      const found = $ref
        ? openApi.components.responses[$ref.slice($ref.lastIndexOf('/') + 1)]?.content
        : content;
      return Object.keys(found?.['application/json']?.examples ?? {});
    });
  const all = Object.keys(openApi.paths).flatMap((path) => callsAt(openApi, path));
  const counts = new Map();
  for (const [, operation] of all) {
    for (const code of codesOf(operation)) counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return (operation) => codesOf(operation).filter((code) => counts.get(code) <= all.length * common);
}

/** A parameter that a trial request leaves out until it is ticked: an example of each at once finds nothing. */
function offered(parameter) {
  if (parameter.required) return parameter;
  const { content, ...rest } = parameter;
  const schema = parameter.schema ?? content['application/json'].schema;
  const value = parameter.schema ? exampleOf(schema) : JSON.stringify(exampleOf(schema));
  return { ...rest, schema, examples: { example: { value, 'x-disabled': true } } };
}

/** The first sentence is the title, where Scalar shows plain text; what follows is the description. Both are searched, so errors are there. */
function titled(text, codes) {
  const [, first, rest] = /^(.*?)(?:[.;:] +(.+))?$/s.exec(text.replace(/\.$/, ''));
  const errors = codes.map((code) => `\`${code}\``).join(', ');
  return {
    summary: capital(first.replaceAll('`', '')),
    description: [rest && `${capital(rest)}.`, errors && `Errors: ${errors}.`].filter(Boolean).join('\n\n'),
  };
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
