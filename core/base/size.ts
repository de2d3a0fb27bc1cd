import { type TString, Type } from '@sinclair/typebox';
import { withBeyond } from './limit-schema.ts';

const units: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Schema of a size in config: `"500MB"`, `"10GB"` (powers of ten), `"512MiB"` (of two). The options are as for durations. */
export function sizeSchema(options: { default?: string; description: string; beyond?: string }): TString {
  const { beyond, description, ...rest } = options;
  return Type.String({
    pattern: '^[1-9]\\d{0,5}([KMGT]i?)?B$',
    expected: 'a size such as "10GB"',
    ...rest,
    description: withBeyond(description, beyond),
  });
}

/** A size in bytes. Throws on text that the schema would refuse. */
export function bytesOf(text: string): number {
  const match = /^([1-9]\d{0,5})((?:[KMGT]i?)?B)$/.exec(text);
  if (!match) throw new Error(`not a size: ${text}`);
  return Number(match[1]) * units[match[2]];
}
