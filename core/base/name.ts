import { type TString, Type } from '@sinclair/typebox';

/** Characters of the name of anything: stream, account, API key, target, profile. */
export const maxNameLength = 500;
/** Characters of an id in a request body. */
export const maxIdLength = 100;

/**
 * The name of anything that has one: 1 to 500 characters. NUL and halves of surrogate pairs are none: no database, file or
 * header would give them back as they came. `example` is for the API reference.
 */
export function nameSchema(example: string): TString {
  return Type.String({
    minLength: 1,
    maxLength: maxNameLength,
    pattern: '^(?:[^\\u0000\\uD800-\\uDFFF]|[\\uD800-\\uDBFF][\\uDC00-\\uDFFF])*$',
    expected: `1 to ${maxNameLength} characters, without NUL and halves of surrogate pairs`,
    examples: [example],
  });
}
