import { exits, Failure, type Given, type Options, print, text } from './command.ts';
import { table } from './table.ts';

export const limitOption = {
  limit: { type: 'string', value: 'N', summary: 'at most so many. Default: 100' },
} as const satisfies Options;

const defaultLimit = 100;

export function limitOf({ options }: Given): number {
  const given = text(options.limit);
  if (given === undefined) return defaultLimit;
  if (!/^[1-9]\d{0,6}$/.test(given)) throw new Failure('--limit: expected a number from 1 on.', exits.usage);
  return Number(given);
}

/** The first rows of a list, from as many pages as they take. */
export async function rowsOf<T>(pages: AsyncIterable<readonly T[]>, limit: number): Promise<readonly T[]> {
  const rows: T[] = [];
  for await (const page of pages) {
    rows.push(...page);
    if (rows.length >= limit) break;
  }
  return rows.slice(0, limit);
}

/** Prints a list: as JSON, as a table, or as the sentence `none`. */
export function printRows<T>(
  rows: readonly T[],
  options: {
    readonly isJson: boolean;
    readonly none: string;
    readonly head: readonly string[];
    cells(row: T): readonly string[];
  },
): void {
  const { isJson, none, head, cells } = options;
  if (isJson) print(JSON.stringify(rows));
  else print(rows.length === 0 ? none : table(head, rows.map(cells)));
}
