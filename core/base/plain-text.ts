/**
 * What others wrote, within a sentence of ours: one line, in the direction of that sentence. Control characters, separators of lines,
 * and what changes the direction or hides (bidi marks, joiners) are shown by their code point: `\u{202e}`.
 */
export function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(unfit, (one) => `\\u{${(one.codePointAt(0) as number).toString(16).padStart(4, '0')}}`);
}

/** The same in one line of at most `most` characters; what is unfit for it is left out. */
export function plainLine(text: string, { most }: { most: number }): string {
  // Bounds the work as well.
  const line = text
    .slice(0, most * 4)
    .toWellFormed()
    .replace(unfit, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const letters = [...line];
  return letters.length > most ? `${letters.slice(0, most - 1).join('')}…` : line;
}

/** `%20` becomes a space. What is not encoded, or not as UTF-8, stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const unfit = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
