import {
  type Answer,
  type AnyElysia,
  type BodyReader,
  Elysia,
  Fault,
  type InnerCall,
  json,
  nothing,
  type Operation,
  says,
  Type,
} from '../../sdk/plugin.ts';
import type { StudioKit } from './config.ts';

/** Objects of one page of a list: they are read and written again here, so that each page costs little. */
const maxPage = 200;

/** What one of our routes answered. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: objects of all routes
  readonly body: any;
}

/** A call of a client of Studio. */
export interface StudioCall {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  /** Calls one of our routes with the key of the client. A refusal of it is thrown, and becomes the answer. */
  ask(
    method: InnerCall['method'],
    path: string,
    more?: Pick<InnerCall, 'body' | 'isOpen'>,
  ): Promise<Answered>;
}

interface Declared {
  readonly name: string;
  readonly summary: string;
  /** `list`: an array; `none`: 204. Default: an object. */
  readonly gives?: 'object' | 'list' | 'none';
  /** Default: 200, or 204. */
  readonly status?: number;
  readonly body?: BodyReader<unknown>;
  readonly query?: Operation['query'];
  readonly isOpen?: true;
}

const shown = Type.Record(Type.String(), Type.Unknown(), { description: 'As in Livepeer Studio.' });

/** Declares calls of Studio's API below the path of the plugin. */
export function studioRoutes(kit: StudioKit) {
  const base = `${kit.config.path}/api`;
  const app: AnyElysia = new Elysia();
  return {
    app,
    declare(
      method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
      path: string,
      {
        run,
        name,
        summary,
        gives = 'object',
        status = gives === 'none' ? 204 : 200,
        ...more
      }: Declared & { run(call: StudioCall): Promise<Answered> },
    ): void {
      const answer: Answer = gives === 'none' ? nothing : json(gives === 'list' ? Type.Array(shown) : shown);
      app.route(
        method,
        `${base}${path}`,
        handler(kit, { base, status, run }),
        says(`${summary} (Livepeer Studio.)`, {
          ...{ name: `studio${name}`, ...more, answers: { [status]: answer } },
          faults: refusals,
        }),
      );
    },
  };
}

function handler(
  kit: StudioKit,
  { base, status, run }: { base: string; status: number; run(call: StudioCall): Promise<Answered> },
) {
  // biome-ignore lint/suspicious/noExplicitAny: the type of Elysia's context depends on what was mounted before
  return async ({ request, params }: any): Promise<Response> => {
    try {
      const ask: StudioCall['ask'] = async (method, path, more) =>
        read(await kit.ask(request, { method, path, ...more }));
      return written(await run({ request, params: params ?? {}, ask }), { status, base });
    } catch (error) {
      if (error instanceof Fault && error.cause instanceof Response) return error.cause;
      throw error;
    }
  };
}

/** Of a Fault that stands for an answer; nobody sees it. */
const refused = 'studio.bad_request';

/** Throws a Fault with the answer as its cause when it is a refusal. */
async function read(answer: Response): Promise<Answered> {
  const { status, headers } = answer;
  if (!answer.ok) {
    throw new Fault(refused, { status, message: 'A route refused the call.', cause: answer });
  }
  const text = await answer.text();
  return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
}

/** The answer to the client: headers are those of our route, links to further pages among them. */
function written({ headers, body }: Answered, { status, base }: { status: number; base: string }): Response {
  const kept = new Headers(headers);
  for (const name of ['content-length', 'content-type', 'content-encoding', 'etag', 'location'])
    kept.delete(name);
  const link = kept.get('link');
  if (link !== null) kept.set('link', link.replace(/(<https?:\/\/[^/>]+)\/api\//g, `$1${base}/`));
  if (status === 204) return new Response(null, { status, headers: kept });
  return Response.json(body, { status, headers: kept });
}

/** One segment of a path of ours. */
export function segment(id: string | undefined): string {
  const encoded = encodeURIComponent(id ?? '');
  // A URL parser would take these for a step to another route.
  if (/^(\.|%2e){0,2}$/i.test(encoded))
    throw new Fault('studio.not_found', { status: 404, message: 'There is nothing with this id.' });
  return encoded;
}

/** The query of a list, for our route of the same kind: its parameters are the same. `all` is of administrators of Studio. */
export function listQuery({ url }: Request): string {
  const query = new URL(url).searchParams;
  query.delete('all');
  const limit = query.get('limit');
  if (limit === null) query.set('limit', '100');
  else if (Number(limit) > maxPage) query.set('limit', String(maxPage));
  return `?${query}`;
}

/** The parameters of a list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1000, description: `More than ${maxPage} count as that.` }),
  ),
  cursor: Type.Optional(Type.String({ description: 'From the `Link` of the page before.' })),
};

/** Something that Studio has and this server has not. */
export function unsupported(message: string, status: 422 | 501 = 422): Fault {
  return new Fault(status === 501 ? 'studio.unsupported' : 'studio.unsupported_field', { status, message });
}

/** Every status that a call may be refused with. The codes in bodies are those of our own routes. */
const refusals = [
  ...['studio.bad_request', 'studio.forbidden', 'studio.not_found', 'studio.conflict'],
  ...['studio.unsupported_field', 'studio.unavailable', 'studio.limited', 'studio.unsupported'],
];

const own = 'A route of this server refused the call. `code` is its own.';
export const faults = {
  'studio.bad_request': { status: 400, meaning: own },
  'studio.forbidden': { status: 403, meaning: own },
  'studio.not_found': { status: 404, meaning: own },
  'studio.conflict': { status: 409, meaning: own },
  'studio.limited': { status: 429, meaning: own },
  'studio.unavailable': { status: 503, meaning: own },
  'studio.unsupported_field': {
    status: 422,
    meaning: 'The body asks for something that Livepeer Studio has and this server has not.',
  },
  'studio.unsupported': {
    status: 501,
    meaning: 'Livepeer Studio has this call, this server has not. The message says what to use instead.',
  },
};
