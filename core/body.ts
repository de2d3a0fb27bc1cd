import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { Fault } from './fault.ts';
import { problemsOf } from './problem.ts';

/** Most bytes of a JSON request body; beyond it 413. */
export const maxBodyBytes = 1_048_576;
/** Deepest nesting of a JSON request body; beyond it 400. */
const maxDepth = 32;

/** Reads JSON bodies of one shape. */
export interface BodyReader<T> {
  /**
   * The body, read as JSON whatever the content type says.
   * Faults: `body.malformed` (400), `body.too_large` (413), `body.invalid` (422, naming each field).
   */
  read(request: Request): Promise<T>;
}

/**
 * @param fields the fields a client may set
 * @param options `readOnly`: fields that the resource's own table lists as read-only; accepted and ignored,
 * so that what was read can be sent back. Every other field is a 422.
 */
export function bodyReader<P extends Record<string, TSchema>>(
  fields: P,
  options: { readOnly?: readonly string[] } = {},
): BodyReader<Static<ReturnType<typeof Type.Object<P>>>> {
  const schema = Type.Object(fields, { additionalProperties: false });
  const check = TypeCompiler.Compile(schema);
  const ignored = new Set(options.readOnly?.filter((name) => !(name in fields)));
  return {
    async read(request) {
      const body = withoutNames(await readJson(request), ignored);
      if (check.Check(body)) return body as Static<typeof schema>;
      const problems = problemsOf(check.Errors(body), { whole: 'body', most: 20 });
      throw new Fault('body.invalid', { status: 422, message: problems });
    },
  };
}

async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request);
  if (text.trim() === '') return {};
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Fault('body.malformed', { status: 400, message: 'The body is not valid JSON.' });
  }
  if (depthOf(body, 0) > maxDepth) {
    throw new Fault('body.malformed', {
      status: 400,
      message: `The body is nested deeper than ${maxDepth} levels.`,
    });
  }
  return body;
}

async function readText(request: Request): Promise<string> {
  const tooLarge = () =>
    new Fault('body.too_large', { status: 413, message: `The body is larger than ${maxBodyBytes} bytes.` });
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw tooLarge();
  if (!request.body) return '';
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function withoutNames(body: unknown, names: ReadonlySet<string>): unknown {
  if (names.size === 0 || body === null || typeof body !== 'object' || Array.isArray(body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.has(name)));
}

function depthOf(value: unknown, depth: number): number {
  if (value === null || typeof value !== 'object' || depth > maxDepth) return depth;
  let deepest = depth + 1;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, depth + 1));
  return deepest;
}
