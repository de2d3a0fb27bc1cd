import { uuidLength } from '../../../../core/ids.ts';

/**
 * The number that a new row of `resources` gets, so that it is found by its kind and id with one walk down the table instead of
 * one down an index and another from there: the last 48 bits of its id, and above them some of its kind, which keeps rows of
 * a kind together. Undefined for an id that is no uuid.
 *
 * Nothing may trust in it. Rows of older versions have numbers below `firstMade`, and so have those whose number was taken: whoever
 * looks a row up compares kind and id, and looks into the index when it is not there.
 */
export function madeNumber(kind: string, id: string): number | undefined {
  if (id.length !== uuidLength) return undefined;
  const digits = Number.parseInt(id.slice(-12), 16);
  return digits >= 0 ? numberOfKind(kind) * firstMade + digits : undefined;
}

/** The least number that is made of an id. Below it they are given out one after the other. */
export const firstMade = 2 ** 48;

/** As many as leave every number exact in JavaScript, and some above them for versions that count on from the highest one. */
const kindNumbers = Math.floor(Number.MAX_SAFE_INTEGER / firstMade) - 1;

/** From 1 on. Two kinds may share one. */
function numberOfKind(kind: string): number {
  let number = known.get(kind);
  if (number === undefined) {
    number = 0;
    for (const letter of kind) number = (number * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
    number = 1 + (number % kindNumbers);
    known.set(kind, number);
  }
  return number;
}

/** Of the program's kinds, which are a few. */
const known = new Map<string, number>();
