#!/bin/sh
# Runs the project's own Bun with the arguments given: `sh scripts/bun.sh runtime/main.ts`.
# Needs only Node 20 and npm: what is missing or older than package-lock.json is installed first.
# MILLRACE_INSTALL=never, for deployments: installs nothing, and exits with 78 when a package is missing.
# It ends in `exec`, so signals reach the program and its exit code is the answer.
set -eu
cd "$(dirname "$0")/.."

program=${1:-}
lock=tmp/install.lock
npm_pid=
# EX_CONFIG of sysexits.h, as for a bad config: starting again will not help.
bad_config=78

refuse() {
  echo "millrace: $1" >&2
  exit "$bad_config"
}

is_installed() {
  # npm writes node_modules/.package-lock.json last. A stamp with the same content as the lock wins over times,
  # so a checkout that only touched the file installs nothing.
  [ -f node_modules/.package-lock.json ] || return 1
  # The server needs no development tools (`npm ci --omit=dev` is a fine deployment), everything else may.
  [ "$program" = runtime/main.ts ] || [ -d node_modules/vitest ] || return 1
  cmp -s package-lock.json node_modules/.installed-lock && return 0
  [ node_modules/.package-lock.json -nt package-lock.json ]
}

install() {
  # `npm ci` empties the folder that the link points to, which is another checkout's.
  if [ -L node_modules ]; then
    refuse "node_modules is a symbolic link to $(readlink node_modules), and what is there is not what package-lock.json asks for. \
Installing would empty that folder, so nothing was installed. Remove the link (rm node_modules) and start again, or run 'npm ci' in the checkout that owns the folder"
  fi
  # Two first runs at once (`npm start` here, `npm test` there) must not install over each other.
  until mkdir -p tmp && ln -s $$ "$lock" 2>/dev/null; do
    [ -w tmp ] || { echo "millrace: cannot write to $(pwd)/tmp, so nothing can be installed here" >&2; exit 1; }
    holder=$(readlink "$lock" 2>/dev/null || true)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then rm -f "$lock"; continue; fi
    sleep 0.2
  done
  trap 'rm -f "$lock"' EXIT
  trap 'test -z "$npm_pid" || kill "$npm_pid" 2>/dev/null || true; exit 143' TERM INT HUP
  if ! is_installed; then
    echo "millrace: installing dependencies (npm ci)" >&2
    # In the background, because a shell answers a signal only between foreground commands.
    npm ci --include=dev --no-audit --no-fund --no-progress --loglevel=error </dev/null >&2 &
    npm_pid=$!
    wait "$npm_pid" || { echo "millrace: npm ci failed; the lines above say why" >&2; exit 1; }
    cp package-lock.json node_modules/.installed-lock
  fi
  rm -f "$lock"
  rmdir tmp 2>/dev/null || true
  trap - EXIT TERM INT HUP
}

# bun's postinstall swaps a stub for the binary. Where install scripts are off, the binary still lies in its own
# package; and of the builds that npm brought, libc and processor decide which one runs.
find_bun() {
  for bun in node_modules/bun/bin/bun.exe node_modules/@oven/bun-*/bin/bun; do
    if [ -x "$bun" ] && "$bun" --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

# What each package is, one by one: a deployment may copy files, and their times then say nothing.
check_packages() {
  how="run 'npm ci --omit=dev' where this deployment is built, or start without MILLRACE_INSTALL"
  find_bun || refuse "MILLRACE_INSTALL=never, and node_modules has no Bun that runs on $(uname -sm); $how"
  missing=$("$bun" scripts/missing-packages.ts "$program") ||
    refuse "MILLRACE_INSTALL=never, and the packages in node_modules could not be compared with package-lock.json; $how"
  [ -z "$missing" ] || refuse "MILLRACE_INSTALL=never, and node_modules lacks packages of package-lock.json; $how. Missing:
$missing"
}

case "${MILLRACE_INSTALL:-}" in
  never) check_packages ;;
  '') is_installed || install ;;
  *) refuse "MILLRACE_INSTALL=$MILLRACE_INSTALL: expected never, which installs nothing, or no value" ;;
esac
find_bun || {
  echo "millrace: no Bun binary in node_modules runs on $(uname -sm); try 'npm rebuild bun', or see https://bun.com for supported systems" >&2
  exit 1
}
# Bun's allocator keeps freed pages for a moment before it gives them back to the system. Ten seconds (its own default is
# a tenth of one) spare the page faults of media that comes and goes all the time, a fourth of what a broadcast costs;
# pages of which only a part is free stay. Set the variables yourself to have it otherwise.
export MIMALLOC_PURGE_DELAY="${MIMALLOC_PURGE_DELAY:-10000}"
export MIMALLOC_PURGE_HOLES="${MIMALLOC_PURGE_HOLES:-0}"
exec "$bun" "$@"
