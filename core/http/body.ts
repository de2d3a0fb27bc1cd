import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { Fault } from '../base/fault.ts';
import { problemsOf } from '../base/problem.ts';

/** Bytes of a JSON body: far more than any object here has, and parsed within a millisecond or two. */
export const maxJsonBytes = 262_144;
/** Levels of nesting; no body of this API has more than six. */
const maxJsonDepth = 32;
/** Values and names in all; a body that is not hostile has some thousands at most. */
const maxJsonValues = 20_000;
/** Bytes of a body that takes a millisecond or more. */
const bigJson = 16_384;
/** Chunks read before others get a turn: chunks may be of one byte. */
const chunksInTurn = 4096;
/** Fields that one answer names; a body can have thousands that are wrong. */
const maxProblems = 20;

/** Reads JSON bodies of one shape. */
export interface BodyReader<T> {
  /**
   * The body, read as JSON whatever the content type says.
   * Faults: `body.malformed` (400), `body.too_large` (413), `body.invalid` (422, naming each field).
   */
  read(request: Request): Promise<T>;
  /** The same for a value that came in another way. Fault `body.invalid`. */
  check(value: unknown): T;
  /** What the body is checked against. */
  readonly schema: TSchema;
  /** Fields that are accepted and ignored. */
  readonly readOnly: readonly string[];
}

/**
 * @param fields the fields a client may set
 * @param options `readOnly`: fields that the resource's own table lists as read-only; accepted and ignored,
 * so that what was read can be sent back. `optional`: fields that some deployments have and this one may not; where they are
 * not among `fields` they are ignored as long as they ask for nothing (`false`, `[]`, `{}`). Every other field is a 422.
 * `example`: what the reference shows, where not all fields go together.
 */
export function bodyReader<P extends Record<string, TSchema>>(
  fields: P,
  options: { readOnly?: readonly string[]; optional?: readonly string[]; example?: unknown } = {},
): BodyReader<Static<ReturnType<typeof Type.Object<P>>>> {
  const { example } = options;
  const examples = example === undefined ? {} : { examples: [example] };
  const schema = Type.Object(fields, { additionalProperties: false, ...examples });
  /** Compiled at the first body: all of them would be a twentieth of a start. */
  let check: TypeCheck<typeof schema> | undefined;
  const ignored = new Set(options.readOnly?.filter((name) => !(name in fields)));
  const absent = new Set(options.optional?.filter((name) => !(name in fields)));
  const isLeftOut = (name: string, value: unknown) =>
    isObject(value) && Object.hasOwn(value, name) && (ignored.has(name) || isNothing(value[name]));
  const checked = (value: unknown, hasPairs: boolean) => {
    const body = withoutFields(
      value,
      [...ignored, ...absent].filter((name) => isLeftOut(name, value)),
    );
    const counted = hasPairs ? withoutPairs(body) : body;
    check ??= TypeCompiler.Compile(schema);
    if (check.Check(counted)) return body as Static<typeof schema>;
    const problems = problemsOf(check.Errors(counted), {
      whole: 'body',
      most: maxProblems,
    });
    throw new Fault('body.invalid', { status: 422, message: problems });
  };
  return {
    schema,
    readOnly: [...ignored],
    check: (value) => checked(value, true),
    async read(request) {
      const bytes = await bodyBytes(request);
      const read = () => {
        const { value, hasPairs } = readJson(bytes);
        return checked(value, hasPairs);
      };
      return bytes.length < bigJson ? read() : inTurn(read);
    },
  };
}

/** `hasPairs`: there may be characters that are two units of UTF-16. */
function readJson(bytes: Uint8Array): { value: unknown; hasPairs: boolean } {
  const malformed = (message: string) => new Fault('body.malformed', { status: 400, message });
  // Before it is parsed: half a million brackets cost a tenth of a second of the thread that serves everyone.
  const { isDeep, values } = measured(bytes);
  if (isDeep) throw malformed(`The body is nested deeper than ${maxJsonDepth} levels.`);
  if (values > maxJsonValues) throw malformed(`The body has more than ${maxJsonValues} values and names.`);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('The body is not valid UTF-8.');
  }
  if (text.trim() === '') return { value: {}, hasPairs: false };
  try {
    return { value: JSON.parse(text), hasPairs: /[\ud800-\udfff]|\\u[dD][89a-bA-B]/.test(text) };
  } catch (error) {
    // Of a form, as curl sends it when it is given one.
    const isForm = /^[\w.-]+=/.test(text);
    const hint = isForm ? '; it looks like a form: send JSON such as {"name": "First"}' : '';
    // Without the word of the body that it quotes: this answer is stored for repeats, and the word may be a secret.
    const problem = (error as Error).message.replace('JSON Parse error: ', '').replace(/ ".*$/s, '');
    throw malformed(`The body is not valid JSON: ${problem}${hint}.`);
  }
}

/** The big body that is parsed last so far. */
let lastTurn: Promise<unknown> = Promise.resolve();

/** Does the work of a big body when that of the others before it is done, and what came in meanwhile was served. */
function inTurn<T>(work: () => T): Promise<T> {
  const turn = lastTurn.then(() => new Promise<void>((resolve) => setImmediate(resolve))).then(work);
  lastTurn = turn.catch(() => {});
  return turn;
}

/** Bodies that were read; a request gives its own only once. */
const bodies = new WeakMap<Request, Promise<Uint8Array>>();

/** The body as it came, as often as it is asked for. Faults: `body.too_large` (413). */
export function bodyBytes(request: Request): Promise<Uint8Array> {
  const bytes = bodies.get(request) ?? readBytes(request);
  bodies.set(request, bytes);
  return bytes;
}

async function readBytes(request: Request): Promise<Uint8Array> {
  const tooLarge = () =>
    new Fault('body.too_large', { status: 413, message: `The body is larger than ${maxJsonBytes} bytes.` });
  if (Number(request.headers.get('content-length') ?? 0) > maxJsonBytes) throw tooLarge();
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > maxJsonBytes) throw tooLarge();
      chunks.push(chunk);
      // Chunks that are ready are read without a turn of the event loop.
      if (chunks.length % chunksInTurn === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    }
  } catch (error) {
    if (error instanceof Fault) throw error;
    // The connection ended, so the answer is not read; it is not a failure of the server.
    throw new Fault('body.malformed', { status: 400, message: 'The body ended before it was complete.' });
  }
  return Buffer.concat(chunks);
}

/**
 * The same with texts in which every character is one unit: JSON Schema counts characters (2020-12 validation §6.3.1),
 * the check counts units.
 */
function withoutPairs(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/[\ud800-\udbff][\udc00-\udfff]/g, '\ufffd');
  if (Array.isArray(value)) return value.map(withoutPairs);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutPairs(one)]));
}

function withoutFields(body: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return body;
  const rest = { ...(body as Record<string, unknown>) };
  for (const name of names) delete rest[name];
  return rest;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** `false`, `[]`, `{}`, and an object of nothing else, as `{"targets": []}`. */
function isNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (value === null || typeof value !== 'object') return value === false;
  return Object.values(value).every(isNothing);
}

/** Whether brackets outside strings nest deeper than `maxJsonDepth`, and how many values and names there are. What is not JSON may count wrongly. */
function measured(bytes: Uint8Array): { isDeep: boolean; values: number } {
  let depth = 0;
  let values = 1;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA || byte === COLON) values += 1;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth > maxJsonDepth) return { isDeep: true, values };
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
  }
  return { isDeep: false, values };
}

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
