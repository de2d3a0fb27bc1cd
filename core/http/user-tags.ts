import { Type } from '@sinclair/typebox';

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
