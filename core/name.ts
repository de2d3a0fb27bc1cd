import { type TString, Type } from '@sinclair/typebox';
import { requestLimits } from './limits.ts';

/** The name of anything that has one: 1 to 500 characters. `example` is for the API reference. */
export function nameSchema(example: string): TString {
  return Type.String({ minLength: 1, maxLength: requestLimits.nameLength.value, examples: [example] });
}
