/**
 * Where a text stops being JSON (RFC 8259), and what was expected there: `line 1, column 9: expected a value, found ","`.
 * Undefined for what is JSON. It quotes one character at most, because the text may hold secrets.
 */
export function jsonProblem(text: string): string | undefined {
  const problem = firstProblem(text);
  if (problem === undefined) return undefined;
  const { at, expected } = problem;
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = [...before.slice(before.lastIndexOf('\n') + 1)].length + 1;
  return `line ${line}, column ${column}: expected ${expected}, found ${shown(text.codePointAt(at))}`;
}

interface Problem {
  readonly at: number;
  readonly expected: string;
}

/** What may come next. `first…`: or the end of what was just opened. */
type Next = 'value' | 'firstValue' | 'name' | 'firstName' | 'colon' | 'more';

const expectations = {
  value: 'a value',
  firstValue: 'a value or "]"',
  name: 'a name in double quotes behind the comma',
  firstName: 'a name in double quotes or "}"',
  colon: '":"',
};
const numberAt = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const wordAt = /true|false|null/y;

function firstProblem(text: string): Problem | undefined {
  /** The brackets that close what is open. */
  const open: string[] = [];
  let next = 'value' as Next;
  let at = 0;
  for (;;) {
    at = skipSpace(text, at);
    const char = text[at];
    const closes = open.at(-1);
    if (next === 'more') {
      if (closes === undefined) return char === undefined ? undefined : { at, expected: 'nothing more' };
      if (char === ',') next = closes === '}' ? 'name' : 'value';
      else if (char === closes) open.pop();
      else return { at, expected: `"," or "${closes}"` };
      at += 1;
      continue;
    }
    if ((next === 'firstName' || next === 'firstValue') && char === closes) {
      open.pop();
      at += 1;
      next = 'more';
    } else if (next === 'colon') {
      if (char !== ':') return { at, expected: expectations.colon };
      at += 1;
      next = 'value';
    } else if (char === '"') {
      const end = endOfString(text, at);
      if (typeof end !== 'number') return end;
      at = end;
      next = next === 'name' || next === 'firstName' ? 'colon' : 'more';
    } else if (next === 'name' || next === 'firstName') {
      return { at, expected: expectations[next] };
    } else if (char === '{' || char === '[') {
      open.push(char === '{' ? '}' : ']');
      at += 1;
      next = char === '{' ? 'firstName' : 'firstValue';
    } else {
      const length = lengthAt(numberAt, text, at) || lengthAt(wordAt, text, at);
      if (length === 0) return { at, expected: expectations[next] };
      at += length;
      next = 'more';
    }
  }
}

/** Behind the string that begins at `at`. */
function endOfString(text: string, at: number): number | Problem {
  for (let index = at + 1; index < text.length; index += 1) {
    const char = text[index];
    if (char === '"') return index + 1;
    if (char < ' ') return { at: index, expected: 'text without line breaks and control characters' };
    if (char !== '\\') continue;
    if (!/^(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(text.slice(index + 1, index + 6)))
      return { at: index + 1, expected: 'an escape such as \\n or \\u00e9 behind "\\"' };
    index += 1;
  }
  return { at: text.length, expected: 'the double quote that ends a text' };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return at;
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

function shown(code: number | undefined): string {
  if (code === undefined) return 'the end';
  if (code === 0x22) return 'a double quote';
  const isPlain = code > 0x20 && code !== 0x7f && !(code >= 0xd800 && code <= 0xdfff);
  return isPlain
    ? `"${String.fromCodePoint(code)}"`
    : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
