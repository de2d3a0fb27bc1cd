import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { bodyReader, maxJsonBytes } from '../../core/http/body.ts';
import { jsonProblem } from '../../core/http/json-problem.ts';
import { randomOf } from '../kit/random.ts';

const reader = bodyReader({ list: Type.Optional(Type.Array(Type.Unknown())) }, { readOnly: ['id'] });
const read = (body: string | Uint8Array) =>
  reader.read(new Request('http://x/', { method: 'POST', body: body as never }));

describe('a request body', () => {
  it.each([
    ['nothing', ''],
    ['a read-only field', '{"id": {"list": 5}}'],
  ])('may be %s', async (_, body) => {
    expect(await read(body)).toEqual({});
  });

  it('may have brackets and quotes in its texts', async () => {
    const list = ['['.repeat(100), '"{\\', '{'.repeat(100)];
    expect(await read(JSON.stringify({ list }))).toEqual({ list });
  });

  it.each([
    ['not JSON', '{', 400],
    ['not UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
    ['deep', `{"list":${'['.repeat(32)}${']'.repeat(32)}}`, 400],
    ['deep and unfinished', '['.repeat(250_000), 400],
    ['too large', ' '.repeat(maxJsonBytes + 1), 413],
    ['a list', '[]', 422],
    ['with a field of the language', '{"__proto__": {"list": []}}', 422],
  ])('is refused when it is %s', async (_, body, status) => {
    await expect(read(body)).rejects.toMatchObject({ status });
  });

  it.each([
    ['{name: "First"}', 'line 1, column 2: expected a name in double quotes or "}", found "n".'],
    ["{'name': 1}", `line 1, column 2: expected a name in double quotes or "}", found "'".`],
    ['{"name": "a",}', 'line 1, column 14: expected a name in double quotes behind the comma, found "}".'],
    ['{"name" "a"}', 'line 1, column 9: expected ":", found a double quote.'],
    ['{\n  "é🎬": 1\n  "b": 2}', 'line 3, column 3: expected "," or "}", found a double quote.'],
    ['{"é🎬" 1}', 'line 1, column 7: expected ":", found "1".'],
    ['{"name": "a', 'line 1, column 12: expected the double quote that ends a text, found the end.'],
    [
      '{"name": "a\n"}',
      'line 1, column 12: expected text without line breaks and control characters, found U+000A.',
    ],
    [
      '{"name": "\\x"}',
      'line 1, column 12: expected an escape such as \\n or \\u00e9 behind "\\", found "x".',
    ],
    ['{"list": [1, 02]}', 'line 1, column 15: expected "," or "]", found "2".'],
    ['[1, ]', 'line 1, column 5: expected a value, found "]".'],
    ['{"a": True}', 'line 1, column 7: expected a value, found "T".'],
    ['{"a": NaN}', 'line 1, column 7: expected a value, found "N".'],
    ['{"a": {}', 'line 1, column 9: expected "," or "}", found the end.'],
    ['{} {}', 'line 1, column 4: expected nothing more, found "{".'],
    [
      'name=First&secret=1',
      'line 1, column 1: expected a value, found "n"; it looks like a form: send JSON such as {"name": "First"}.',
    ],
  ])('that is not JSON is refused with the place: %s', async (body, problem) => {
    await expect(read(body)).rejects.toMatchObject({
      ...{ code: 'body.malformed', status: 400 },
      problems: [`The body is not valid JSON: ${problem}`],
    });
  });

  it('is refused with a place exactly when it cannot be parsed, whatever it is', () => {
    const parts = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '\\',
      '1',
      '-',
      '0',
      '.5',
      'e',
      'null',
      ' ',
      '\n',
      'é',
      '\t',
    ];
    const random = randomOf(7);
    const below = (most: number) => Math.floor(random() * most);
    for (let round = 0; round < 20_000; round += 1) {
      const text = Array.from({ length: below(12) }, () => parts[below(parts.length)]).join('');
      expect([text, jsonProblem(text) === undefined]).toEqual([text, isJson(text)]);
    }
  });

  it('has its texts counted in characters, as JSON Schema does', async () => {
    const short = bodyReader({ text: Type.String({ maxLength: 3 }) });
    const given = async (body: string) =>
      (await short.read(new Request('http://x/', { method: 'POST', body }))).text;
    expect(await given('{"text": "🎬🎬🎬"}')).toBe('🎬🎬🎬');
    expect(await given('{"text": "\\ud83c\\udfac\\uD83C\\uDFAC."}')).toBe('🎬🎬.');
    await expect(given('{"text": "🎬🎬🎬🎬"}')).rejects.toMatchObject({ status: 422 });
    await expect(given('{"text": "\\\\ud83c"}')).rejects.toMatchObject({ status: 422 });
  });

  it('is refused when it is deep before it is parsed: unfinished brackets would be malformed', async () => {
    await expect(read('['.repeat(250_000))).rejects.toThrow('nested deeper');
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
