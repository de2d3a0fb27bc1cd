import type { TSchema } from '@sinclair/typebox';
import type { ValueError } from '@sinclair/typebox/errors';
import { didYouMean, didYouMeanScheme } from './near-miss.ts';

/**
 * One sentence for a value that does not fit its schema: the field by its path and what was expected.
 * A schema may say in plain words what is `expected`, and one of free names what `expectedNames` are.
 */
export function problemOf(error: ValueError, options: { prefix?: string; whole: string }): string {
  const path = error.path.slice(1).replaceAll('/', '.');
  const name = [options.prefix, path].filter(Boolean).join('.') || options.whole;
  return `${name}: ${whatIsWrong(error)}`;
}

/** The problems of all errors, the first of each field. */
export function problemsOf(
  errors: Iterable<ValueError>,
  options: { prefix?: string; whole: string; most: number },
): string[] {
  const problems = new Map<string, string>();
  for (const error of withoutUnions(errors)) {
    if (!problems.has(error.path)) problems.set(error.path, problemOf(error, options));
    if (problems.size >= options.most) break;
  }
  return [...problems.values()];
}

/** Of a value that fits no part of a union with one kind of object, what is wrong with it as that object says more. */
function* withoutUnions(errors: Iterable<ValueError>): Generator<ValueError> {
  for (const error of errors) {
    const isObject = typeof error.value === 'object' && error.value !== null && !Array.isArray(error.value);
    const parts = (error.schema.anyOf ?? []) as readonly TSchema[];
    const index = parts.findIndex(({ type }) => type === 'object');
    const isClear = isObject && parts.filter(({ type }) => type === 'object').length === 1;
    if (isClear && error.errors[index]) yield* withoutUnions(error.errors[index]);
    else yield error;
  }
}

function whatIsWrong(error: ValueError): string {
  const { expected, expectedNames, unit, properties, schemes } = error.schema as {
    expected?: string;
    expectedNames?: string;
    unit?: string;
    properties?: object;
    /** Of text that is a URL. */
    schemes?: readonly string[];
  };
  if (error.message === 'Unexpected property') {
    if (expectedNames !== undefined) return `expected a name of ${expectedNames}`;
    return `unknown field${didYouMean(nameIn(error.path), Object.keys(properties ?? {}))}`;
  }
  if (error.message === 'Expected required property') return 'is required';
  if (expected !== undefined) {
    if (typeof error.value !== 'string') return `expected ${expected}`;
    const hint = schemes
      ? didYouMeanScheme(error.value, schemes)
      : didYouMean(error.value, choicesOf(error.schema));
    return `expected ${expected}${hint}`;
  }
  // Of a limit in config: "10GB" is one place, and MiB without a unit another.
  if (error.message === 'Expected integer' && unit) return `expected a whole number of ${unit}`;
  return error.message.charAt(0).toLowerCase() + error.message.slice(1);
}

/** The texts that a schema allows, where it lists them. */
function choicesOf(schema: TSchema): string[] {
  const options = (schema.anyOf ?? []) as readonly { const?: unknown }[];
  const choices = options.map((option) => option.const);
  return choices.filter((choice) => typeof choice === 'string');
}

/** The last name of a JSON Pointer (RFC 6901). */
function nameIn(path: string): string {
  return path
    .slice(path.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
}
