import { decoded } from '../../core/base/plain-text.ts';

/**
 * Returns a function that removes secrets from a text: every string in them, and user, password and query of a URL, also in
 * their URL-encoded form. An error may have them in its message.
 */
export function redactor(secret: Readonly<Record<string, unknown>> | null): (text: string) => string {
  const found = new Set<string>();
  collect(secret, found);
  // The longest first: a part of it would leave the rest.
  const parts = [...found].sort((a, b) => b.length - a.length);
  return (text) => parts.reduce((left, part) => left.replaceAll(part, '***'), text);
}

/** Shorter strings occur in many words. */
const shortest = 4;
const shortestWord = 8;

function collect(value: unknown, found: Set<string>): void {
  if (typeof value === 'string') {
    add(value, found);
    for (const part of partsOf(value)) add(part, found);
  } else if (value !== null && typeof value === 'object') {
    for (const one of Object.values(value)) collect(one, found);
  }
}

function add(part: string, found: Set<string>): void {
  if (part.length < shortest) return;
  found.add(part);
  found.add(encodeURIComponent(part));
  // As it stands in JSON, without the quotes.
  found.add(JSON.stringify(part).slice(1, -1));
}

function partsOf(text: string): string[] {
  // `Bearer …`: an error may show the token alone.
  const words = text.split(/\s+/).filter(({ length }) => length >= shortestWord);
  if (!URL.canParse(text)) return words;
  const { href, username, password, search, searchParams, hash } = new URL(text);
  const values = search.split('&').map((pair) => pair.slice(pair.indexOf('=') + 1));
  return [
    ...[href, username, decoded(username), password, decoded(password)],
    ...[search.slice(1), hash.slice(1), ...values, ...searchParams.values(), ...words],
  ];
}
