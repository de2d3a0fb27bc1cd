/**
 * What lies beside a partial file: a line that says how many of its bytes are on disk for certain, then what is to be known of it,
 * as JSON. The line has always the same length, so that it is written in place, by one write within one sector.
 */
export function markText(bytes: number): string {
  return String(bytes).padStart(digits, '0');
}

/** The whole, for a file that begins. */
export function factsText(facts: PartialFacts): string {
  return `${markText(0)}\n${JSON.stringify(facts)}\n`;
}

/** Undefined: it is not one, or was not written to its end. */
export function readFacts(text: string): (PartialFacts & { readonly marked: number }) | undefined {
  const [mark, json, ...rest] = text.split('\n');
  if (!new RegExp(`^\\d{${digits}}$`).test(mark) || rest.length !== 1) return undefined;
  try {
    const { size, expires, note } = JSON.parse(json) as PartialFacts;
    const marked = Number(mark);
    const isWhole = Number.isSafeInteger(size) && Number.isFinite(expires) && typeof note === 'object';
    return isWhole && marked <= size ? { size, expires, note: note ?? {}, marked } : undefined;
  } catch {
    return undefined;
  }
}

export interface PartialFacts {
  readonly size: number;
  readonly expires: number;
  readonly note: Readonly<Record<string, string>>;
}

/** As many as the largest whole number of a double has. */
const digits = 16;
