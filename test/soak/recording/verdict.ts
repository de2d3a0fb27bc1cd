import { machine, printTable } from '../../../bench/harness/figures.ts';

/** What was measured, and whether it is as it must be. */
export interface Verdict {
  /** A figure and what it must be, in words. */
  check(what: string, options: { figure: string; must: string; isSo: boolean }): void;
  /** A figure that is only told. */
  tell(what: string, figure: string): void;
  /** Prints all; whether all is as it must be. */
  finish(): boolean;
}

export function verdict(): Verdict {
  const rows: string[][] = [];
  let failures = 0;
  const add = (row: string[]) => {
    rows.push(row);
    console.log(`  ${row.filter(Boolean).join(' · ')}`);
  };
  return {
    check(what, { figure, must, isSo }) {
      if (!isSo) failures += 1;
      add([what, figure, must, isSo ? 'yes' : 'NO']);
    },
    tell: (what, figure) => add([what, figure, '', '']),
    finish() {
      console.log(`\n${machine()}\n`);
      printTable(
        ['', 'measured', 'must be', ''],
        rows.map((row) => row.map(shortened)),
      );
      console.log(failures === 0 ? '\nall is as it must be' : `\n${failures} are not as they must be`);
      return failures === 0;
    },
  };
}

/** Hashes and lists make no column wide. */
const shortened = (text: string) => (text.length > 60 ? `${text.slice(0, 57)}…` : text);
