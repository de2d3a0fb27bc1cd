/** A schema of the OpenAPI document. */
export interface Schema {
  readonly [key: string]: unknown;
}

interface Content {
  readonly [type: string]: { readonly schema?: Schema };
}

/** One operation of the OpenAPI document. */
export interface Operation {
  /** `operationId` */
  readonly name: string;
  /** In capitals. */
  readonly method: string;
  /** Template: `/api/stream/{id}`. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly isOpen: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | undefined;
  readonly isBodyRequired: boolean;
  readonly answers: readonly { readonly status: string; readonly words: string; readonly schema?: Schema }[];
  /** Why `call` cannot run it. */
  readonly obstacle: string | undefined;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly content?: Content;
}

/** The operations of this program. */
export interface Operations {
  readonly all: readonly Operation[];
  readonly schemas: Readonly<Record<string, Schema>>;
  find(name: string): Operation | undefined;
  /** The best first. */
  search(words: string, most: number): readonly Operation[];
}

/** Reads the document that `/openapi.json` answers. `own`: the path that is not to call itself. */
export function operationsOf(document: Document, own: string): Operations {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'head' && method !== 'options' && path !== own)
      .map(([method, raw]) => operationOf(raw, { path, method: method.toUpperCase() })),
  );
  const byName = new Map(all.map((one) => [one.name.toLowerCase(), one]));
  const entries = all.map((operation) => ({ operation, words: wordsOf(operation) }));
  const { schemas = {} } = document.components ?? {};
  return {
    all,
    schemas,
    find: (name) => byName.get(name.toLowerCase()) ?? all.find((one) => `${one.method} ${one.path}` === name),
    search(text, most) {
      const asked = [...new Set(stems(text))].slice(0, maxWords);
      return entries
        .map(({ operation, words }) => ({
          operation,
          score: scoreOf(asked, words) * (operation.obstacle === undefined ? 1 : 0.6),
        }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || a.operation.path.length - b.operation.path.length)
        .slice(0, most)
        .map(({ operation }) => operation);
    },
  };
}

/** What is read of the OpenAPI document. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface RawOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description?: string; readonly content?: Content }>>;
  readonly security?: readonly Schema[];
}

function operationOf(raw: RawOperation, { path, method }: { path: string; method: string }): Operation {
  const { requestBody, responses } = raw;
  const successes = Object.entries(responses).filter(([status]) => /^[23]/.test(status));
  const json = requestBody?.content['application/json']?.schema;
  return {
    ...{ name: raw.operationId, method, path, summary: raw.summary ?? '', tag: raw.tags?.[0] ?? '' },
    isOpen: (raw.security ?? []).length === 0,
    parameters: raw.parameters ?? [],
    body: json,
    isBodyRequired: requestBody?.required === true,
    answers: successes.map(([status, { description = '', content = {} }]) => {
      const schema = content['application/json']?.schema;
      return { status, words: description, ...(schema && { schema }) };
    }),
    obstacle: obstacleOf({ raw, hasFile: requestBody !== undefined && json === undefined, successes }),
  };
}

/** Text that a model can read as it is. */
const readable = /^(application\/json|text\/plain|text\/markdown)\b/;

function obstacleOf(one: {
  raw: RawOperation;
  hasFile: boolean;
  successes: readonly (readonly [string, { readonly content?: Content }])[];
}): string | undefined {
  if (one.hasFile) return 'it takes a file; upload that over HTTP, to the URL that the API gives';
  const types = one.successes.flatMap(([, { content = {} }]) => Object.keys(content));
  if (types.includes('text/event-stream'))
    return 'it is a stream of events; read what happened with getSessionTimeline, listEvents or diagnose';
  const other = types.find((type) => !readable.test(type));
  if (other !== undefined) return `its answer is a file or a page (${other}); open its URL instead`;
  const security = one.raw.security ?? [];
  if (security.length > 0 && !security.some((scheme) => 'key' in scheme))
    return 'it takes no key as Authorization: Bearer';
  return undefined;
}

/** Words of a question that count. */
const maxWords = 12;

/** Words of an operation → how much they count. */
function wordsOf({ name, summary, path, tag, parameters, body }: Operation): ReadonlyMap<string, number> {
  const words = new Map<string, number>();
  const add = (text: string, weight: number) => {
    for (const word of stems(text)) words.set(word, Math.max(weight, words.get(word) ?? 0));
  };
  for (const { name: parameter, description = '' } of parameters) {
    add(parameter, 2);
    add(description, 1);
  }
  for (const field of Object.keys((body?.properties as Schema | undefined) ?? {})) add(field, 2);
  add(tag, 2);
  add(path, 3);
  add(summary, 3);
  add(name, 4);
  return words;
}

function scoreOf(asked: readonly string[], words: ReadonlyMap<string, number>): number {
  let score = 0;
  for (const word of asked) {
    const exact = words.get(word);
    if (exact !== undefined) score += exact;
    else if (word.length > 3 && [...words.keys()].some((one) => one.startsWith(word))) score += 1;
  }
  return score;
}

/** What many say for what the API calls otherwise. */
const synonyms: Readonly<Record<string, string>> = {
  ...{ make: 'create', add: 'create', new: 'create', start: 'create' },
  ...{ remove: 'delete', destroy: 'delete', erase: 'delete' },
  ...{ show: 'get', read: 'get', fetch: 'get', see: 'get' },
  ...{ change: 'update', edit: 'update', set: 'update', modify: 'update', patch: 'update' },
  ...{ video: 'asset', film: 'asset', vod: 'asset', broadcast: 'stream', live: 'stream' },
  ...{ simulcast: 'multistream', restream: 'multistream', hook: 'webhook', token: 'token' },
};

const fillers = new Set(['a', 'an', 'the', 'of', 'to', 'for', 'in', 'on', 'my', 'with', 'and', 'or', 'api']);

/** Words in small letters, without their endings: `createStream` and `creating streams` have the same. */
function stems(text: string): string[] {
  return text
    .slice(0, maxText)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '' && !fillers.has(word))
    .flatMap((word) => {
      const stem = stemOf(word);
      const other = synonyms[stem] ?? synonyms[word];
      return other === undefined ? [stem] : [stem, stemOf(other)];
    });
}

/** Characters of a text that count. */
const maxText = 2000;

function stemOf(word: string): string {
  if (word.length < 5) return word.replace(/s$/, '');
  return word.replace(/(ies)$/, 'y').replace(/(ing|ed|es|s|e)$/, '');
}
