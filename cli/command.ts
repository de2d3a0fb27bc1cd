import type { ParseArgsConfig } from 'node:util';

/** A command of `millrace`. */
export interface Command {
  /** What is typed: `plugin new`. */
  readonly name: string;
  /** What follows the name in its usage: `<id|@scope/id> [--dir DIR]`. */
  readonly usage: string;
  /** One line, for `millrace help`. */
  readonly summary: string;
  /** More for `millrace help <command>`, in whole lines. */
  readonly details?: string;
  readonly options?: ParseArgsConfig['options'];
  /** How many arguments it takes. */
  readonly arguments?: { readonly least: number; readonly most: number };
  /** Resolves with the exit code; undefined: the process goes on, and ends itself. */
  run(given: Given): Promise<number | undefined>;
}

export interface Given {
  readonly arguments: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
}

/** Exit codes; the middle ones as in sysexits.h. */
export const exits = {
  fine: 0,
  failed: 1,
  usage: 2,
  /** EX_UNAVAILABLE: the server cannot be reached. */
  unreachable: 69,
  /** EX_NOPERM: the key may not do that. */
  notAllowed: 77,
  /** EX_CONFIG: starting again will not help. */
  config: 78,
} as const;

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}
