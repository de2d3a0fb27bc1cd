/** What an API key may do. Absent parts: everything, but no browser. */
export interface Access {
  readonly rules?: readonly AccessRule[];
  readonly cors?: { readonly allowedOrigins: readonly string[] };
}

/**
 * Allows requests to paths below `/api`: `:x` stands for one segment, `*` at the end for all that follow, at
 * least one. Absent methods: all.
 */
export interface AccessRule {
  readonly resources: readonly string[];
  readonly methods?: readonly string[];
}

/** What a rule can name. HEAD counts as `get`. A key with rules may use no other method. */
export const accessMethods = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** What a resource of a rule looks like: no empty segment, none of dots alone, nothing encoded. */
export const resourcePattern = (() => {
  const literal = '(?!\\.\\.?(?:/|$))[A-Za-z0-9._~-]+';
  const segment = `(?:${literal}|:[A-Za-z][A-Za-z0-9_]*)`;
  return `^(?:${segment}/)*(?:${segment}|\\*)$`;
})();

/** What a request asks of a key. */
export interface Demand {
  /** In small letters. */
  readonly method: string;
  /** Below `/api`, without a slash before it; undefined when it is elsewhere. */
  readonly path: string | undefined;
}

/** The path counts as the router takes it: not decoded, case and empty segments kept. */
export function demandOf(request: Request): Demand {
  const { pathname } = new URL(request.url);
  const method = request.method.toLowerCase();
  return {
    method: method === 'head' ? 'get' : method,
    path: pathname.startsWith('/api/') ? pathname.slice('/api/'.length) : undefined,
  };
}

export function allows(access: Access, demand: Demand): boolean {
  if (!access.rules) return true;
  const segments = demand.path?.split('/') ?? [''];
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return false;
  return access.rules.some(
    (rule) =>
      methodsOf(rule).includes(demand.method) &&
      rule.resources.some((pattern) => covers(pattern.split('/'), segments)),
  );
}

/** Whether a key may create what a POST to this path below `/api` creates, in whatever request. */
export function mayCreate(access: Access, path: string): boolean {
  return allows(access, { method: 'post', path });
}

/** Whether a key may change what is at this path below `/api`: secrets of a resource are for those who may. */
export function mayChange(access: Access, path: string): boolean {
  return allows(access, { method: 'patch', path });
}

/**
 * What `asked` has and `own` has not, in plain words; undefined when there is nothing. What only several rules
 * of `own` together cover counts as missing.
 *
 * A list of origins limits a key that browsers hold: it can give no others on. A key without one is of a server,
 * which may give any.
 */
export function excessOf(asked: Access, own: Access): string | undefined {
  const origins = own.cors?.allowedOrigins;
  const foreign = asked.cors?.allowedOrigins.find(
    (origin) => origins !== undefined && !origins.includes('*') && !origins.includes(origin),
  );
  if (foreign !== undefined) return `the origin ${foreign}`;
  if (!own.rules) return undefined;
  if (!asked.rules) return 'access without rules';
  const given = granted(own.rules);
  const isGiven = (one: Grant) =>
    given.some((grant) => grant.method === one.method && covers(grant.pattern, one.pattern));
  const missing = granted(asked.rules).find((one) => !isGiven(one));
  return missing && `${missing.method} ${missing.pattern.join('/')}`;
}

/** One method of one resource. */
interface Grant {
  readonly method: string;
  readonly pattern: readonly string[];
}

function granted(rules: readonly AccessRule[]): Grant[] {
  return rules.flatMap((rule) =>
    rule.resources.flatMap((resource) => {
      const pattern = resource.split('/');
      return methodsOf(rule).map((method) => ({ method, pattern }));
    }),
  );
}

function methodsOf(rule: AccessRule): readonly string[] {
  return rule.methods ?? accessMethods;
}

/**
 * Whether a pattern stands for a path, or for every path that another pattern stands for: what is covered by
 * `:x` is one segment whatever it is, but never `*`. (A request for a segment named `*` is refused by this as
 * well; no id looks like that.)
 */
function covers(pattern: readonly string[], other: readonly string[]): boolean {
  for (const [index, part] of pattern.entries()) {
    const segment = other[index];
    if (segment === undefined) return false;
    if (part === '*') return true;
    if (part.startsWith(':') ? segment === '*' : part !== segment) return false;
  }
  return pattern.length === other.length;
}
