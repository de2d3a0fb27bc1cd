import { type Soon, upon } from './at-once.ts';
import { type Authenticator, authenticate } from './auth.ts';
import { direct } from './direct-route.ts';
import type { Fault } from './fault.ts';
import type { ResourceReader, RowPlace, RowText } from './ports/store.ts';

/**
 * The handler of a route that shows one row to the account that owns it. Another account's is as unknown as one that never was.
 * Where neither key nor row have to be waited for, and `present` waits for nothing, the answer is there at once.
 */
export function rowRoute(options: {
  keys: Authenticator;
  resources: Pick<ResourceReader, 'read'>;
  kind: string;
  place: RowPlace;
  /** The object that is shown, or its JSON; undefined when the row is none of those that the route shows. */
  present(row: RowText): Soon<object | string | undefined>;
  notFound(id: string): Fault;
}) {
  const { keys, resources, kind, place, present, notFound } = options;
  return direct((request, id) => {
    const answer = (shown: object | string | undefined) => {
      if (shown === undefined) throw notFound(id);
      return typeof shown === 'string' ? new Response(shown, json) : Response.json(shown);
    };
    return upon(authenticate(request, keys), ({ accountId }) =>
      upon(resources.read(kind, id, place), (row) =>
        upon(row?.account === accountId ? present(row) : undefined, answer),
      ),
    );
  });
}

/**
 * The same header as `Response.json` gives. Copied into each answer, so one may be given more: from `Headers` with two allocations less
 * than from an object.
 */
const json = { headers: new Headers({ 'content-type': 'application/json;charset=utf-8' }) };
