import { allows, type InnerCall, type Kit, type Principal } from '../../sdk/plugin.ts';
import type { Operation, Parameter } from './operations.ts';

/** Bytes of an answer that are read, and characters of it that a model is given. */
const maxRead = 1_048_576;
export const maxShown = 48_000;
/** Characters of one parameter. */
const maxParameter = 4096;

/** What a tool says: text for the model. */
export interface Said {
  readonly text: string;
  readonly isError?: boolean;
}

/** The client whose tools run. */
export interface Asker {
  readonly request: Request;
  readonly principal: Principal;
  readonly kit: Kit;
}

/** What a model gives the tool `call`. */
export interface CallInput {
  readonly operation: Operation;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** Runs an operation with the key of the asker. Its refusals are answers too. */
export async function callOperation(input: CallInput, asker: Asker): Promise<Said> {
  const { operation, body } = input;
  const refuse = (text: string): Said => ({ text, isError: true });
  if (operation.obstacle !== undefined)
    return refuse(`${operation.name} cannot be run by this tool: ${operation.obstacle}.`);
  const made = requestOf(input);
  if (typeof made === 'string') return refuse(made);
  if (operation.method === 'DELETE' && !mayDelete(asker.principal, made.path)) return refuse(noDeleting);
  const answer = await asker.kit.ask(asker.request, {
    ...{ path: made.path, method: operation.method as InnerCall['method'], headers: made.headers },
    ...(body !== undefined && { body }),
  });
  return saidOf(answer);
}

const noDeleting =
  'This tool deletes only with a key whose access rules say so: the key needs a rule that names the method delete and this path. Ask the person who runs the server to make one, or to delete it in the dashboard.';

/** A key without rules may do everything, but nobody has said of it that a model is to delete with it. */
function mayDelete({ access }: Principal, path: string): boolean {
  const rules = (access.rules ?? []).filter(({ methods }) => methods?.includes('delete'));
  const { pathname } = new URL(path, 'http://server.invalid');
  return allows({ rules }, { method: 'delete', path: pathname.replace(/^\/api\//, '') });
}

/** Path and headers of a call, or what is wrong with its parameters. */
function requestOf({
  operation,
  parameters,
  body,
}: CallInput): { path: string; headers: Record<string, string> } | string {
  const { name } = operation;
  const known = operation.parameters;
  const unknown = Object.keys(parameters).find((one) => !known.some((parameter) => parameter.name === one));
  if (unknown !== undefined) {
    const names = known.map((one) => one.name).join(', ');
    const hint = operation.body ? ' Fields of the body belong into `body`.' : '';
    return `${name} has no parameter ${shortly(unknown)}; ${names === '' ? 'it has none' : `it has ${names}`}.${hint}`;
  }
  if (body !== undefined && !operation.body) return `${name} takes no body.`;
  if (body === undefined && operation.isBodyRequired)
    return `${name} needs a body; the tool describe shows its fields.`;
  let path = operation.path;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const one of known) {
    const value = parameters[one.name];
    if (value === undefined || value === null) {
      if (one.required) return `${name} needs the parameter ${one.name}.`;
      continue;
    }
    const text = textOf(value);
    const problem = problemOf(text, one);
    if (problem !== undefined) return `${one.name}: ${problem}.`;
    if (one.in === 'path') path = path.replace(`{${one.name}}`, () => encodeURIComponent(text));
    else if (one.in === 'query') query.set(one.name, text);
    else headers[one.name] = text;
  }
  return { path: query.size > 0 ? `${path}?${query}` : path, headers };
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function problemOf(text: string, { in: place, name }: Parameter): string | undefined {
  if (text.length > maxParameter) return `expected at most ${maxParameter} characters`;
  // The URL parser would resolve dots, and the path would be that of another route.
  if (place === 'path' && /^(\.|\.\.|)$/.test(text)) return 'expected an id';
  if (place === 'header' && !/^[\x20-\x7e]*$/.test(text)) return 'expected plain characters';
  if (place === 'header' && /^(authorization|host|cookie|origin|x-forwarded-.*)$/i.test(name))
    return 'this header cannot be set';
  return undefined;
}

/** An answer in words: status, where the next page is, and the body as it came. */
async function saidOf(answer: Response): Promise<Said> {
  const type = answer.headers.get('content-type') ?? '';
  const read = await readText(answer);
  const isError = !answer.ok;
  const facts = [
    `Status ${answer.status}.`,
    ...headerWords(answer.headers, { 'x-total-count': 'In all', location: 'Location' }),
    ...nextPage(answer.headers.get('link')),
    ...headerWords(answer.headers, { 'retry-after': 'Try again after seconds' }),
  ].join(' ');
  if (read === undefined) {
    const text = `${facts} The answer has more than ${maxRead} bytes; ask for less, such as with limit, fields or filters.`;
    return { text, isError: true };
  }
  const body = fitted(read, type);
  return { text: body === '' ? facts : `${facts}\n${body}`, ...(isError && { isError }) };
}

/** The body, undefined when it is too large. */
async function readText(answer: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (size > maxRead) return undefined;
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** At most `maxShown` characters: of a list whole entries, of anything else the beginning. */
function fitted(text: string, type: string): string {
  if (text.length <= maxShown) return text;
  const list: unknown = type.startsWith('application/json') ? JSON.parse(text) : undefined;
  if (!Array.isArray(list))
    return `${text.slice(0, maxShown)}…\n(The answer has ${text.length} characters; this is the beginning.)`;
  const shown: string[] = [];
  let size = 0;
  for (const entry of list) {
    const one = JSON.stringify(entry);
    size += one.length + 1;
    if (size > maxShown) break;
    shown.push(one);
  }
  const hint = 'Ask for fewer with limit, or narrow it down with filters.';
  return `[${shown.join(',')}]\n(The first ${shown.length} of ${list.length} entries of this page. ${hint})`;
}

function headerWords(headers: Headers, wanted: Readonly<Record<string, string>>): string[] {
  return Object.entries(wanted).flatMap(([name, words]) => {
    const value = headers.get(name);
    return value === null ? [] : [`${words}: ${value}.`];
  });
}

/** The parameters of the next page, ready to be given to the next call. */
function nextPage(link: string | null): string[] {
  const [, address] = /<([^>]+)>; *rel="next"/.exec(link ?? '') ?? [];
  if (address === undefined || !URL.canParse(address)) return [];
  return [`Next page, parameters: ${JSON.stringify(Object.fromEntries(new URL(address).searchParams))}.`];
}

function shortly(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
