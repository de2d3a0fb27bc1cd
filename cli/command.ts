/** A command of `millrace`. */
export interface Command {
  /** What is typed: `plugin new`. */
  readonly name: string;
  /** What follows the name in its usage: `<id|@scope/id> [--dir DIR]`. Options that many commands have are left out. */
  readonly usage: string;
  /** One line, for `millrace help`. */
  readonly summary: string;
  /** More for `millrace help <command>`, in whole lines. */
  readonly details?: string;
  readonly options?: Options;
  /** How many arguments it takes. */
  readonly arguments?: { readonly least: number; readonly most: number };
  /** Resolves with the exit code; undefined: the process goes on, and ends itself. Rejects with a `Failure` where it failed. */
  run(given: Given): Promise<number | undefined>;
}

/** By name, without the dashes. */
export type Options = Readonly<Record<string, Option>>;

export interface Option {
  readonly type: 'string' | 'boolean';
  /** It may be given more than once. */
  readonly multiple?: true;
  /** What its value is called in the usage: `FILE`. */
  readonly value?: string;
  /** One line, for `millrace help <command>`. */
  readonly summary: string;
}

export interface Given {
  readonly arguments: readonly string[];
  readonly options: Readonly<Record<string, GivenOption>>;
}

type GivenOption = string | boolean | readonly (string | boolean)[] | undefined;

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

/** Ends a command: a sentence for people that says what to do, and the exit code. */
export class Failure extends Error {
  readonly exit: number;

  constructor(message: string, exit: number = exits.failed) {
    super(message);
    this.name = 'Failure';
    this.exit = exit;
  }
}

export function print(text: string): void {
  process.stdout.write(`${harmless(text)}\n`);
}

export function complain(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

/** Text of a server may be in it: what a terminal would obey is written as in JSON, which then means the same. */
function harmless(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the terminal
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The value of an option that takes one. */
export function text(value: GivenOption): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
