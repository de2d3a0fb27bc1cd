import { Type } from '@sinclair/typebox';
import { requestLimits } from './limits.ts';

/** The name of anything that has one: 1 to 500 characters. */
export const nameSchema = Type.String({ minLength: 1, maxLength: requestLimits.nameLength.value });
