import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { bodyReader, maxJsonBytes } from '../../core/http/body.ts';

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

  it('may have thousands of values, and lets others have their turn between big ones', async () => {
    const list = Array.from({ length: 19_000 }, (_, index) => index % 10);
    const text = JSON.stringify({ list });
    let turns = 0;
    let isDone = false;
    const others = async () => {
      for (; !isDone; turns += 1) await new Promise<void>((resolve) => setImmediate(resolve));
    };
    const waiting = others();
    const bodies = await Promise.all(Array.from({ length: 8 }, () => read(text)));
    isDone = true;
    await waiting;
    expect(bodies).toEqual(Array(8).fill({ list }));
    expect(turns).toBeGreaterThan(7);
    // One that is refused holds up no other.
    const outcomes = await Promise.allSettled([read(`${text}}`), read(text), read(`[${text}]`), read(text)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
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
    ['of too many values', `{"list":[${'1,'.repeat(20_000)}1]}`, 400],
    ['of too many names', `{"list":[{${'"a":1,'.repeat(10_000)}"b":1}]}`, 400],
    ['too large', ' '.repeat(maxJsonBytes + 1), 413],
    ['a list', '[]', 422],
    ['with a field of the language', '{"__proto__": {"list": []}}', 422],
  ])('is refused when it is %s', async (_, body, status) => {
    await expect(read(body)).rejects.toMatchObject({ status });
  });

  it.each([
    ['{"name": ,}', "Unexpected token ','."],
    ['{"secret": whsec_abcdef}', 'Unexpected identifier.'],
    ['name=First&secret=1', '; it looks like a form: send JSON such as {"name": "First"}.'],
  ])('that is not JSON is refused with the reason: %s', async (body, problem) => {
    await expect(read(body)).rejects.toMatchObject({
      ...{ code: 'body.malformed', status: 400 },
      problems: [
        expect.stringMatching(`^The body is not valid JSON: .*${problem.replace(/[?{}."]/g, '.')}$`),
      ],
    });
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
