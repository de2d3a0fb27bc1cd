/** Lines of aligned columns; the last column is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(plain))];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Lines of names and values. */
export function facts(of: Readonly<Record<string, string | undefined>>): string {
  const rows = Object.entries(of).filter(
    (row): row is [string, string] => row[1] !== undefined && row[1] !== '',
  );
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${`${name}:`.padEnd(width + 1)}  ${plain(value)}`).join('\n');
}

/** Text from a server, in one line and without what a terminal would obey. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the terminal
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}

/** Local time, such as 2026-11-27 14:02:11. */
export function moment(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${day} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`;
}

/** Such as 12.4 MB. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, count)) / 3)));
  return `${(count / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
