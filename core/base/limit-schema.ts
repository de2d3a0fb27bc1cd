import { type TInteger, Type } from '@sinclair/typebox';

/**
 * Schema of a bound in the config: a whole number of `unit`, at least 1 unless `minimum` says otherwise. Without `default` the code
 * chooses. `beyond`: what happens beyond it, the end of the description.
 */
export function limitSchema(options: {
  default?: number;
  description: string;
  unit: string;
  beyond?: string;
  minimum?: number;
  maximum?: number;
}): TInteger {
  const { beyond, description, ...rest } = options;
  return Type.Integer({ minimum: 1, ...rest, description: withBeyond(description, beyond) });
}

export function withBeyond(description: string, beyond: string | undefined): string {
  return beyond === undefined ? description : `${description} ${beyond}`;
}
