/**
 * Completes package-lock.json after `npm install`: adds the optional platform packages that npm left out.
 *
 * npm drops an optional dependency from the lock when the registry at hand cannot serve it (a mirror without the
 * darwin or win32 builds). The lock is then refused by every later `npm ci` ("Missing: … from lock file"), on every
 * platform. An entry with version, os and cpu is enough: npm ci skips what does not fit the machine it runs on.
 *
 * `--check` changes nothing, lists what is missing and exits 1 when there is something.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8'));
const missing = missingOptional(lock.packages);

if (process.argv.includes('--check')) {
  for (const { name, version, parent } of missing) console.log(`${name}@${version}, wanted by ${parent}`);
  process.exit(missing.length === 0 ? 0 : 1);
}
for (const { path, name, version, parent } of missing) {
  const { os, cpu, libc } = platformOf(name);
  const dev = lock.packages[parent].dev;
  // In npm's own order of keys, so that the next `npm install` changes nothing.
  lock.packages[path] = { version, cpu, ...(dev && { dev }), ...(libc && { libc }), optional: true, os };
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`package-lock.json: ${missing.length} platform packages added`);

function missingOptional(packages) {
  const found = [];
  for (const [parent, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (/^\d/.test(version) && !isResolved(packages, parent, name)) {
        found.push({ path: `node_modules/${name}`, name, version, parent });
      }
    }
  }
  return found;
}

/** Node's own walk: nearest node_modules first, then upwards. */
function isResolved(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (packages[`${at}${at ? '/' : ''}node_modules/${name}`]) return true;
    if (at === '') return false;
  }
}

/** `@biomejs/cli-linux-x64-musl` → os, cpu and libc, as the packages themselves declare them. */
function platformOf(name) {
  const [, os, cpu, abi = ''] =
    /(android|darwin|freebsd|linux|openharmony|win32)-(arm64|arm|x64|ia32|ppc64|riscv64|s390x)(?:-(\w+))?$/.exec(
      name,
    ) ?? [];
  if (!os) throw new Error(`${name}: no platform in its name, install it where the registry has it`);
  const libc = os !== 'linux' ? undefined : abi.startsWith('musl') ? 'musl' : 'glibc';
  return { os: [os], cpu: [cpu], ...(libc && { libc: [libc] }) };
}
