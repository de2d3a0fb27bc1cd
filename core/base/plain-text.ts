/**
 * What others wrote, within a sentence of ours: one line, in the direction of that sentence. Control characters, separators of lines,
 * and what changes the direction or hides (bidi marks, joiners) are shown by their code point: `\u{202e}`.
 */
export function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(unfit, (one) => `\\u{${(one.codePointAt(0) as number).toString(16).padStart(4, '0')}}`);
}

const unfit = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
