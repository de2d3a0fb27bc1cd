/** What the server lets a key do, as the page asks it: `mayDo(current, { method: 'POST', path: 'stream' })`. */

const allMethods = ['get', 'post', 'put', 'patch', 'delete'];
/** Only for keys of the admin account, whatever their rules. Everybody may see what their own account uses. */
const adminOnly = /^(account(?!\/usage$)|system)(\/|$)/;

/**
 * Whether the server would let a key make this request. The server decides; this hides what it would refuse.
 *
 * @param {object} current the answer of `GET /api/api-token/current`
 * @param {{ method: string, path: string }} demand `path` below `/api/`; `:id` stands for any id
 */
export function mayDo({ isAdmin, access }, { method, path }) {
  if (adminOnly.test(path) && !isAdmin) return false;
  if (!access.rules) return true;
  const segments = path.split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) return false;
  const asked = method.toLowerCase();
  return access.rules.some(
    ({ methods = allMethods, resources }) =>
      methods.includes(asked === 'head' ? 'get' : asked) &&
      resources.some((pattern) => covers(pattern.split('/'), segments)),
  );
}

/** As `core/http/access.ts`: `:x` stands for one segment, `*` at the end for one or more. */
function covers(pattern, segments) {
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index];
    if (segment === undefined) return false;
    if (part === '*') return true;
    if (part.startsWith(':') ? segment === '*' : part !== segment) return false;
  }
  return pattern.length === segments.length;
}
