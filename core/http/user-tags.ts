import { Type } from '@sinclair/typebox';
import { tagLimits } from '../base/limits.ts';

const { length, nameLength, tags } = tagLimits;
/** Of names that do not match, the schema of the values says nothing. */
const tagName = `^(?!__proto__$)[^\\u0000-\\u001f]{1,${nameLength.value}}$`;

/** `userTags` of whatever has them: values of the client's own, by name. */
export const userTagsSchema = Type.Record(
  Type.String({ pattern: tagName }),
  Type.Union([Type.String({ maxLength: length.value }), Type.Number(), Type.Boolean()], {
    expected: `text of at most ${length.value} characters, a number or a boolean`,
  }),
  {
    expectedNames: `1 to ${nameLength.value} characters, no control characters`,
    maxProperties: tags.value,
    additionalProperties: false,
    description: `Values of your own; names have up to ${nameLength.value} characters.`,
    examples: [{ show: 'friday', season: 3 }],
  },
);
