import { Type } from '@sinclair/typebox';
import { limitSchema } from '../core/base/config-fields.ts';

export const section = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { default: {}, additionalProperties: false });

export const port = (options: { default?: number; description: string }) =>
  Type.Integer({ minimum: 0, maximum: 65_535, ...options });

/** A number of MiB of which the machine decides the default. */
export const mebibytes = (minimum: number, description: string) =>
  Type.Optional(limitSchema(description, { minimum, unit: 'MiB' }));
