import type { TObject, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { milliseconds } from '../base/config-fields.ts';
import { problemsOf } from '../base/problem.ts';

/** Problems of one section that are listed at once. */
const maxProblems = 100;

/**
 * Config as a person wrote it, checked against its schema and filled with defaults. `value` is what the schema
 * says when there are no problems.
 */
export function settingsOf(
  schema: TObject,
  options: { given: unknown; prefix?: string; whole: string },
): { value: unknown; problems: string[] } {
  const { given, ...names } = options;
  const value = Value.Default(schema, structuredClone(given));
  const problems = problemsOf(
    [
      // What was written, as it was written: filling in defaults replaces a list by an object.
      ...[...Value.Errors(schema, given)].filter((error) => error.value !== undefined),
      ...Value.Errors(schema, value),
    ],
    { ...names, most: maxProblems },
  );
  checkDurations(schema, { value, path: options.prefix ?? '', problems });
  return { value, problems };
}

/** A pattern can tell what a duration is, not how long. What is none has its problem already. */
function checkDurations(
  schema: TSchema,
  options: { value: unknown; path: string; problems: string[] },
): void {
  const { value, path, problems } = options;
  const { atLeast, atMost } = schema as { atLeast?: string; atMost?: string };
  const length =
    (atLeast ?? atMost) !== undefined && Value.Check(schema, value) ? durationOf(value) : undefined;
  if (length !== undefined && atLeast !== undefined && length < milliseconds(atLeast)) {
    problems.push(`${path}: expected at least ${atLeast}`);
  }
  if (length !== undefined && atMost !== undefined && length > milliseconds(atMost)) {
    problems.push(`${path}: expected at most ${atMost}`);
  }
  for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, TSchema>)) {
    const here = path === '' ? name : `${path}.${name}`;
    checkDurations(inner, {
      value: (value as Record<string, unknown> | undefined)?.[name],
      path: here,
      problems,
    });
  }
}

function durationOf(value: unknown): number | undefined {
  return typeof value === 'string' ? milliseconds(value) : undefined;
}
