import { isAtOrBelow } from '../../core/http/error-format.ts';
import type { OpenApi } from '../../runtime/http/openapi/document.ts';
import { misfits, pointed, type Schema } from './json-schema.ts';

/**
 * Checks answers against `/openapi.json`: the status is documented for that route and method, the media type too, the
 * body fits its schema to the last field, the error code is listed. Returns what is not so, in one line each.
 */
export function documentedBy(
  document: OpenApi,
): (request: Pick<Request, 'method' | 'url'>, answer: Response) => Promise<string[]> {
  const routes = Object.entries(document.paths)
    .map(([template, methods]) => ({ template, methods, matches: patternOf(template) }))
    // As the router does: what is written out counts before what a parameter stands for.
    .sort((a, b) => a.template.split('{').length - b.template.split('{').length);

  const ownForms = document.tags.flatMap((tag) => tag['x-errors-below'] ?? []);

  return async (request, answer) => {
    const { pathname } = new URL(request.url);
    const method = request.method.toLowerCase();
    const route = routes.find(({ matches }) => matches.test(pathname));
    const operation = route?.methods[method] as Operation | undefined;
    const problems = operation
      ? await problemsOf(answer, { operation, method, document })
      : await problemsOfNone(answer, {
          isKnown: route !== undefined && method !== 'options',
          hasOwnForm: ownForms.some((folder) => isAtOrBelow(pathname, folder)),
        });
    return problems.map((problem) => `${request.method} ${pathname} → ${answer.status}: ${problem}`);
  };
}

interface Operation {
  readonly responses: Readonly<Record<string, Described & { readonly $ref?: string }>>;
}

interface Described {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

async function problemsOf(
  answer: Response,
  { operation, method, document }: { operation: Operation; method: string; document: OpenApi },
): Promise<string[]> {
  const reference = operation.responses[answer.status];
  if (!reference) return ['this status is not documented'];
  const response: Described = reference.$ref ? pointed(reference.$ref, document) : reference;
  if (method === 'head') return [];
  const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
  if (!response.content) {
    return type === '' ? [] : [`no body is documented, it has one of ${type}`];
  }
  const content = response.content[type];
  if (!content) return [`the media type "${type}" is not documented`];
  if (type !== 'application/json') return [];
  return misfits(await answer.json(), content.schema, document);
}

/** A path that is nobody's, or a method that its path does not have. */
async function problemsOfNone(
  answer: Response,
  { isKnown, hasOwnForm }: { isKnown: boolean; hasOwnForm: boolean },
): Promise<string[]> {
  if (hasOwnForm) return answer.status === (isKnown ? 405 : 404) ? [] : ['not documented'];
  const { code } = (await answer.json().catch(() => ({}))) as { code?: string };
  if (isKnown)
    return code === 'route.method_not_allowed' && answer.headers.has('allow') ? [] : ['not documented'];
  return code === 'route.not_found' || answer.status === 204 ? [] : ['not documented'];
}

/** A parameter is one segment; of the last one nobody knows, so it may be several. */
function patternOf(template: string): RegExp {
  const source = template.replace(/[.+?^$()|[\]\\]/g, '\\$&').replace(/\{file\}$/, '.+');
  return new RegExp(`^${source.replace(/\{\w+\}/g, '[^/]+')}$`);
}
