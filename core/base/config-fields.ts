import { type TInteger, type TString, Type } from '@sinclair/typebox';

/** Schema of a limit in the config: a whole number of `unit`, at least 1 unless `minimum` says otherwise. Without `default` the code chooses. */
export function limitSchema(
  description: string,
  options: { default?: number; unit: string; minimum?: number; maximum?: number },
): TInteger {
  return Type.Integer({ minimum: 1, ...options, description });
}

const durationUnits: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Schema of a duration in config: `"500ms"`, `"30s"`, `"6m"`, `"24h"`, `"7d"`. `atLeast` and `atMost` are durations too.
 * Without `default` the code chooses.
 */
export function durationSchema(
  description: string,
  options: { default?: string; atLeast?: string; atMost?: string } = {},
): TString {
  return Type.String({
    ...{ pattern: '^\\d{1,9}(ms|s|m|h|d)$', expected: 'a duration such as "30s"' },
    ...{ ...options, description },
  });
}

/** A duration in milliseconds. Throws on text that the schema would refuse. */
export function milliseconds(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  if (!match) throw new Error(`not a duration: ${text}`);
  return Number(match[1]) * durationUnits[match[2]];
}

const sizeUnits: Readonly<Record<string, number>> = {
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

/** Schema of a size in config: `"500MB"`, `"10GB"` (powers of ten), `"512MiB"` (of two). */
export function sizeSchema(description: string, options: { default?: string } = {}): TString {
  return Type.String({
    ...{ pattern: '^[1-9]\\d{0,5}([KMGT]i?)?B$', expected: 'a size such as "10GB"' },
    ...{ ...options, description },
  });
}

/** A size in bytes. Throws on text that the schema would refuse. */
export function bytesOf(text: string): number {
  const match = /^([1-9]\d{0,5})((?:[KMGT]i?)?B)$/.exec(text);
  if (!match) throw new Error(`not a size: ${text}`);
  return Number(match[1]) * sizeUnits[match[2]];
}
