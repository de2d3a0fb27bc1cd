/**
 * What an API key can be allowed, as a tree: resources (the first word of a path below `/api`), their paths, and the methods of each. A
 * choice is a set of `<method> <path>`, such as `get stream/:id`.
 */
export const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** `[{name, paths: [{path, methods}]}]`, of the document of the server. */
export function resourcesOf(document) {
  const found = new Map();
  for (const [path, operations] of Object.entries(document?.paths ?? {})) {
    if (!path.startsWith('/api/')) continue;
    const allowed = methods.filter((method) => operations[method]?.security?.length > 0);
    if (allowed.length === 0) continue;
    const pattern = path.slice('/api/'.length).replaceAll(/\{(\w+)\}/g, ':$1');
    const [name] = pattern.split('/');
    found.set(name, [...(found.get(name) ?? []), { path: pattern, methods: allowed }]);
  }
  return [...found]
    .map(([name, paths]) => ({ name, paths: paths.sort((a, b) => (a.path < b.path ? -1 : 1)) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export const choicesOf = ({ paths }, method) =>
  paths.filter((path) => path.methods.includes(method)).map(({ path }) => `${method} ${path}`);

/** Rules of an API key, as few as say it: paths that the same methods are allowed on share one. */
export function rulesOf(chosen, resources) {
  const byMethods = new Map();
  const add = (allowed, paths) => {
    if (allowed.length === 0) return;
    const key = allowed.join();
    byMethods.set(key, { methods: allowed, resources: [...(byMethods.get(key)?.resources ?? []), ...paths] });
  };
  for (const resource of resources) {
    const whole = methods.filter((method) => {
      const all = choicesOf(resource, method);
      return all.length > 0 && all.every((choice) => chosen.has(choice));
    });
    add(whole, wholeOf(resource));
    for (const { path, methods: possible } of resource.paths) {
      const own = possible.filter((method) => !whole.includes(method) && chosen.has(`${method} ${path}`));
      add(own, [path]);
    }
  }
  return [...byMethods.values()].flatMap(({ methods: allowed, resources: paths }) =>
    chunks(paths).map((part) => ({ resources: part, methods: allowed })),
  );
}

/** `*` stands for at least one word. */
function wholeOf({ name, paths }) {
  const isOne = paths.length === 1 && paths[0].path === name;
  return [...(paths.some(({ path }) => path === name) ? [name] : []), ...(isOne ? [] : [`${name}/*`])];
}

/** Paths of one rule, at most. */
const most = 20;
function chunks(paths) {
  return Array.from({ length: Math.ceil(paths.length / most) }, (_, at) =>
    paths.slice(at * most, (at + 1) * most),
  );
}

/** The access of a key in words, a line for each rule. */
export function accessLines({ rules }) {
  if (!rules) return ['Everything'];
  if (rules.length === 0) return ['Nothing'];
  return rules.map(({ resources, methods: allowed = methods }) => {
    const verbs = allowed.length === methods.length ? 'any method' : allowed.join(', ').toUpperCase();
    return `${verbs}: ${resources.join(', ')}`;
  });
}
