import { inspect } from 'node:util';

/**
 * `expect` of suites that any test runner runs: outside this repository nobody has ours. It has the matchers that the suites
 * use, with the meaning that Vitest, Jest and Bun give them.
 */
export function expect(actual: unknown, about?: string): Matchers & { readonly rejects: Rejections } {
  return {
    ...matchersOf(actual, about),
    rejects: {
      toBe: async (expected) => matchersOf(await reasonOf(actual), about).toBe(expected),
      toMatchObject: async (expected) => matchersOf(await reasonOf(actual), about).toMatchObject(expected),
      async toThrow(expected) {
        const error = await reasonOf(actual);
        const isIt =
          typeof expected === 'string' ? String(error).includes(expected) : error instanceof expected;
        check(isIt, { actual: error, is: 'is not the error', expected, about });
      },
    },
  };
}

interface Matchers {
  toBe(expected: unknown): void;
  toBeUndefined(): void;
  toEqual(expected: unknown): void;
  /** Fields and elements that are not in `expected` do not count. */
  toMatchObject(expected: object): void;
  toContainAll(expected: readonly unknown[]): void;
  toHaveLength(expected: number): void;
  toMatch(expected: RegExp): void;
  toBeGreaterThan(expected: number): void;
  toBeLessThan(expected: number): void;
  toBeLessThanOrEqual(expected: number): void;
}

interface Rejections {
  toBe(expected: unknown): Promise<void>;
  toMatchObject(expected: object): Promise<void>;
  /** A text in the error, or its class. */
  toThrow(expected: string | (new (...parameters: never[]) => unknown)): Promise<void>;
}

function matchersOf(actual: unknown, about: string | undefined): Matchers {
  const it = (is: boolean, relation: string, expected: unknown) =>
    check(is, { actual, is: relation, expected, about });
  const number = actual as number;
  return {
    toBe: (expected) => it(Object.is(actual, expected), 'is not', expected),
    toBeUndefined: () => it(actual === undefined, 'is not', undefined),
    toEqual: (expected) => it(Bun.deepEquals(actual, expected), 'does not equal', expected),
    toMatchObject: (expected) =>
      it(Bun.deepMatch(expected as never, actual as never), 'does not match', expected),
    toContainAll: (expected) =>
      it(
        expected.every((one) => (actual as unknown[]).some((other) => Bun.deepEquals(one, other))),
        'does not contain all of',
        expected,
      ),
    toHaveLength: (expected) =>
      it((actual as unknown[]).length === expected, 'has another length than', expected),
    toMatch: (expected) => it(expected.test(String(actual)), 'does not match', expected),
    toBeGreaterThan: (expected) => it(number > expected, 'is not greater than', expected),
    toBeLessThan: (expected) => it(number < expected, 'is not less than', expected),
    toBeLessThanOrEqual: (expected) => it(number <= expected, 'is greater than', expected),
  };
}

async function reasonOf(actual: unknown): Promise<unknown> {
  const outcome = await Promise.allSettled([actual]);
  const [settled] = outcome;
  if (settled?.status === 'rejected') return settled.reason;
  throw new Error(`resolved, and was expected to reject: ${shown(settled?.value)}`);
}

function check(
  isTrue: boolean,
  says: { actual: unknown; is: string; expected: unknown; about: string | undefined },
): void {
  const { actual, is, expected, about } = says;
  if (isTrue) return;
  throw new Error(`${about === undefined ? '' : `${about}: `}${shown(actual)}\n${is}\n${shown(expected)}`);
}

function shown(value: unknown): string {
  return inspect(value, { depth: 6, maxArrayLength: 50, maxStringLength: 500 });
}
