import { Fault } from './fault.ts';

/** `limit` of a list request: default 20, 1..1000. Throws 422 `query.invalid`. */
export function limitOf(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return 20;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= 1000) return limit;
  throw new Fault('query.invalid', {
    status: 422,
    message: 'limit: expected a whole number from 1 to 1000',
  });
}
