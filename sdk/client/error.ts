/** An answer of the server that is no success: `{"errors": ["…"], "code": "…"}`. */
export class MillraceError extends Error {
  /** HTTP status. */
  readonly status: number;
  /** Stable, such as `stream.not_found`; `http.<status>` when something in front of the server answered. */
  readonly code: string;
  /** Sentences for people, one per problem. */
  readonly errors: readonly string[];
  /** Seconds after which the call may succeed, where the server knows. */
  readonly retryAfter: number | undefined;

  constructor(answer: {
    readonly status: number;
    readonly code: string;
    readonly errors: readonly string[];
    readonly retryAfter?: number | undefined;
  }) {
    super(answer.errors.join(' '));
    this.name = 'MillraceError';
    this.status = answer.status;
    this.code = answer.code;
    this.errors = answer.errors;
    this.retryAfter = answer.retryAfter;
  }
}

/** The error that an answer is. Reads its body. */
export async function errorOf(response: Response): Promise<MillraceError> {
  const { status } = response;
  const text = await response.text().catch(() => '');
  const { code = `http.${status}`, errors = [`The server answered with ${status}.`] } = parsed(text);
  return new MillraceError({ status, code, errors, retryAfter: retryAfterOf(response) });
}

/** Seconds; undefined where the header is missing or a date. */
export function retryAfterOf({ headers }: Pick<Response, 'headers'>): number | undefined {
  const text = headers.get('retry-after');
  return text !== null && /^\d+$/.test(text) ? Number(text) : undefined;
}

function parsed(text: string): { code?: string; errors?: readonly string[] } {
  try {
    const { code, errors } = JSON.parse(text);
    const isOurs = typeof code === 'string' && Array.isArray(errors) && errors.length > 0;
    return isOurs ? { code, errors: errors.map(String) } : {};
  } catch {
    return {};
  }
}
