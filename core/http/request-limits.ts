import { type Collection, collection } from '../plugin/token.ts';

/** The API key of a request. */
export interface Asker {
  readonly accountId: string;
  /** Undefined for the bootstrap key. */
  readonly keyId: string | undefined;
}

/** Keeps the requests of one client from taking what belongs to all. Each throws 429 `rate.limited`; a promise is awaited. */
export interface RequestLimits {
  /** A request with a valid key. Also throws 409 `account.limit`, for what would be stored. */
  keyed(request: Request, asker: Asker): Promise<void> | undefined;
  /** One whose key is missing or wrong. */
  unknown(request: Request): Promise<void> | undefined;
  /** One that needs no key. Not for media: a playlist or a segment is never counted. */
  open(request: Request): Promise<void> | undefined;
}

/** None where the plugin is off. */
export const requestLimits = collection<RequestLimits>('limits.requests');

/** Lets requests of an open route of the API pass, for the routes of one plugin. Throws 429 `rate.limited`. */
export function openLimit(kit: {
  offered<T>(to: Collection<T>): readonly T[];
}): (request: Request) => Promise<void> {
  const limits = kit.offered(requestLimits);
  return async (request) => {
    for (const limit of limits) await limit.open(request);
  };
}

const state: unique symbol = Symbol('rate');

type Limited = Request & { [state]?: RateState };

/** What an answer says of a limit (draft-ietf-httpapi-ratelimit-headers). */
export interface RateState {
  /** `RateLimit-Policy` */
  readonly policy: string;
  /** `RateLimit` */
  readonly limit: string;
}

/** Notes what the answer to a request will say of its limit: errors are answered elsewhere. */
export function noteRate(request: Request, rate: RateState): void {
  (request as Limited)[state] = rate;
}

/** Says it in the answer. */
export function tellRate(request: Request, answer: Response): void {
  const rate = (request as Limited)[state];
  if (!rate) return;
  answer.headers.set('ratelimit-policy', rate.policy);
  answer.headers.set('ratelimit', rate.limit);
}
