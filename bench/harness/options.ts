import { parseArgs } from 'node:util';

/**
 * The options of a benchmark, each of the kind that its default is. `--help` says `usage` and ends the program. What is not known, or
 * no number where one is wanted, throws.
 */
export function optionsOf<Defaults extends Readonly<Record<string, string | number | boolean>>>(
  usage: string,
  defaults: Defaults,
): Given<Defaults> {
  const known = Object.entries(defaults);
  const kinds = known.map(([name, value]) => [
    name,
    { type: typeof value === 'boolean' ? 'boolean' : 'string' } as const,
  ]);
  const values: Values = parseArgs({
    options: { ...Object.fromEntries(kinds), help: { type: 'boolean' } },
  }).values;
  if (values.help) {
    console.log(usage);
    process.exit(0);
  }
  const given = known.map(([name, value]) => {
    const text = values[name] ?? value;
    if (typeof value !== 'number') return [name, text];
    const read = text === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(read)) throw new TypeError(`--${name} is ${JSON.stringify(text)}, no number`);
    return [name, read];
  });
  return Object.fromEntries(given);
}

type Values = Readonly<Record<string, unknown>>;

type Given<Defaults> = {
  readonly [Name in keyof Defaults]: Defaults[Name] extends number
    ? number
    : Defaults[Name] extends boolean
      ? boolean
      : string;
};
