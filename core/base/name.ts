import { type TString, Type } from '@sinclair/typebox';

/** Characters of the name of anything: stream, account, API key, target, profile. */
export const maxNameLength = 500;
/** Characters of an id in a request body. */
export const maxIdLength = 100;

const character = '(?:[^\\u0000\\uD800-\\uDFFF]|[\\uD800-\\uDBFF][\\uDC00-\\uDFFF])';

/**
 * The name of anything that has one: 1 to 500 characters. NUL and halves of surrogate pairs are none: no database, file or
 * header would give them back as they came. `example` is for the API reference.
 */
export function nameSchema(example: string): TString {
  return Type.String({
    minLength: 1,
    maxLength: maxNameLength,
    // Bounded like the length: without that a text of 256 KiB takes a tenth of a second.
    pattern: `^${character}{1,${maxNameLength}}$`,
    shownPattern: `^${character}*$`,
    expected: `1 to ${maxNameLength} characters, without NUL and halves of surrogate pairs`,
    examples: [example],
  });
}

const maxTags = 50;
const maxTagName = 100;
const maxTagText = 500;
/** Of names that do not match, the schema of the values says nothing. */
const tagName = `^(?!__proto__$)[^\\u0000-\\u001f]{1,${maxTagName}}$`;

/** `userTags` of whatever has them: values of the client's own, by name. */
export const userTagsSchema = Type.Record(
  Type.String({ pattern: tagName }),
  Type.Union([Type.String({ maxLength: maxTagText }), Type.Number(), Type.Boolean()], {
    expected: `text of at most ${maxTagText} characters, a number or a boolean`,
  }),
  {
    expectedNames: `1 to ${maxTagName} characters, no control characters`,
    maxProperties: maxTags,
    additionalProperties: false,
    description: `Values of your own; names have up to ${maxTagName} characters.`,
    examples: [{ show: 'friday', season: 3 }],
  },
);
