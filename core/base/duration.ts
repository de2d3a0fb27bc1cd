import { type TString, Type } from '@sinclair/typebox';
import { withBeyond } from './limit-schema.ts';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Schema of a duration in config: `"500ms"`, `"30s"`, `"6m"`, `"24h"`, `"7d"`. `atLeast` and `atMost` are durations too.
 * `beyond`: what happens after so long, the end of the description. Without `default` the code chooses.
 */
export function durationSchema(options: {
  default?: string;
  description: string;
  beyond?: string;
  atLeast?: string;
  atMost?: string;
}): TString {
  const { beyond, description, ...rest } = options;
  return Type.String({
    pattern: '^\\d{1,9}(ms|s|m|h|d)$',
    expected: 'a duration such as "30s"',
    ...rest,
    description: withBeyond(description, beyond),
  });
}

/** A duration in milliseconds. Throws on text that the schema would refuse. */
export function milliseconds(text: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  if (!match) throw new Error(`not a duration: ${text}`);
  return Number(match[1]) * units[match[2]];
}
