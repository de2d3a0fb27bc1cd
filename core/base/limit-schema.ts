import { type TInteger, Type } from '@sinclair/typebox';

/** What a key of the config carries when it is a bound. */
export interface LimitNote {
  readonly unit: string;
  readonly beyond: string;
}

/** Schema of a bound in the config: a whole number, at least 1 unless `minimum` says otherwise. Without `default` the code knows better. */
export function limitSchema(options: {
  default?: number;
  description: string;
  unit: string;
  beyond: string;
  minimum?: number;
  maximum?: number;
}): TInteger {
  const { unit, beyond, ...rest } = options;
  return Type.Integer({ minimum: 1, ...rest, limit: { unit, beyond } satisfies LimitNote });
}
