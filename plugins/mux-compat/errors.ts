import { type ErrorFormat, type Fault, type FaultTable, object, Type } from '../../sdk/plugin.ts';

/** Codes of Mux for statuses; what has none keeps ours. */
const types: Readonly<Record<number, string>> = {
  400: 'invalid_parameters',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  422: 'invalid_parameters',
  429: 'too_many_requests',
};

/** `{"error": {"type", "messages"}}`. */
export const muxErrors = {
  below: ({ path }: { path: string }) => [path],
  schema: object({ error: object({ type: Type.String(), messages: Type.Array(Type.String()) }) }),
  answer({ code, status, problems, retryAfter }: Fault): Response {
    const error = { type: types[status] ?? code, messages: problems };
    const headers = {
      ...(status === 401 && { 'www-authenticate': 'Basic' }),
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    };
    return Response.json({ error }, { status, headers });
  },
} satisfies ErrorFormat<{ path: string }>;

export const faults: FaultTable = {
  'mux.invalid': { status: 400, meaning: 'A parameter is wrong, or asks for what this server cannot do.' },
  'mux.refused': { status: 403, meaning: 'The API key may not do that, or the viewer may not play this.' },
  'mux.not_found': { status: 404, meaning: 'There is nothing of this id in your account.' },
  'mux.conflict': {
    status: 409,
    meaning: 'The object is in a state that does not allow this, or there are too many.',
  },
  'mux.idle': { status: 412, meaning: 'The live stream is not on the air.' },
};

/** Of every route with a key: what our own routes answer comes through with its status. */
export const keyedFaults = [
  'mux.invalid',
  'mux.refused',
  'mux.not_found',
  'mux.conflict',
  'body.invalid',
  'rate.limited',
];
