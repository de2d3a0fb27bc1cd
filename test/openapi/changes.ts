import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** What a person reads; a client does not depend on it. */
const texts = new Set(['description', 'summary', 'title', 'example', 'examples', 'tags']);

export interface DocumentChange {
  readonly kind: 'added' | 'removed' | 'changed';
  /** JSON pointer (RFC 6901). */
  readonly at: string;
}

/**
 * What differs between two documents, texts aside. The order of names and of values in a list does not count, nor under which name a
 * response is kept that several routes share: it is made of the codes in it.
 */
export function documentChanges(before: unknown, now: unknown): DocumentChange[] {
  return changesIn(withResponses(before), withResponses(now), '');
}

/** The document with each response at its route. */
function withResponses(document: unknown): unknown {
  const { components: { responses = {}, ...components } = {}, ...rest } = document as Document;
  const text = JSON.stringify({ ...rest, components }, (_, value) => {
    const name = /^#\/components\/responses\/(.+)$/.exec(value?.$ref)?.[1];
    return name === undefined ? value : responses[name];
  });
  return JSON.parse(text);
}

interface Document {
  readonly components?: { readonly responses?: Readonly<Record<string, unknown>> };
}

function changesIn(before: unknown, now: unknown, at: string): DocumentChange[] {
  if (Array.isArray(before) && Array.isArray(now) && [...before, ...now].every(isPlain)) {
    return [
      ...now
        .filter((one) => !before.includes(one))
        .map((one) => ({ kind: 'added' as const, at: `${at}/${one}` })),
      ...before
        .filter((one) => !now.includes(one))
        .map((one) => ({ kind: 'removed' as const, at: `${at}/${one}` })),
    ];
  }
  if (isPlain(before) || isPlain(now)) return before === now ? [] : [{ kind: 'changed', at }];
  const [old, fresh] = [named(before), named(now)];
  return [...new Set([...Object.keys(old), ...Object.keys(fresh)])].flatMap((name): DocumentChange[] => {
    const here = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    // A field may be called like one of the texts.
    if (texts.has(name) && !at.endsWith('/properties')) return [];
    if (!Object.hasOwn(fresh, name)) return [{ kind: 'removed', at: here }];
    if (!Object.hasOwn(old, name)) return [{ kind: 'added', at: here }];
    return changesIn(old[name], fresh[name], here);
  });
}

/** Alternatives (`anyOf`) that differ by a constant `id` are compared by it, parameters by place and name, whatever their order. */
function named(value: unknown): Record<string, unknown> {
  if (!Array.isArray(value)) return value as Record<string, unknown>;
  const parameter = (one: { in?: unknown; name?: unknown } | undefined) =>
    one?.in !== undefined && one.name !== undefined ? `${one.in} ${one.name}` : undefined;
  const entries = value.map((one, index) => [one?.properties?.id?.const ?? parameter(one) ?? index, one]);
  return Object.fromEntries(entries);
}

/** The document of 0.1.0. */
export function firstDocument(): unknown {
  const file = new URL('../golden/openapi-0.1.0.json.gz', import.meta.url);
  return JSON.parse(gunzipSync(readFileSync(file)).toString());
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value !== 'object';
}
