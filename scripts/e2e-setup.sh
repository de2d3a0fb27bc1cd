#!/bin/sh
# Makes sure that what the e2e tests drive is on this machine: encoders, receivers, a browser and what the guides use
# (scripts/tools.sh), published clients of other platforms (test/clients), and the real engines Redis, Kafka and S3
# (test/kit/engines). Looks first, installs only what is missing. Exits 1 when a tool could not be had. Tests of an engine
# that could not, of nginx-rtmp, x264enc or WebKitGTK, are skipped, except in CI.
set -u
cd "$(dirname "$0")/.."

sh scripts/tools.sh ffmpeg chromium font gstreamer librtmp || exit 1
# For the commands of the guides.
sh scripts/tools.sh jq php || exit 1
# Not every system packages its RTMP module, or x264 for GStreamer.
sh scripts/tools.sh nginx || [ -z "${CI:-}" ] || exit 1
sh scripts/tools.sh x264enc || [ -z "${CI:-}" ] || exit 1
sh scripts/tools.sh webkit || [ -z "${CI:-}" ] || exit 1
# In a folder of their own: they bring hundreds of packages, which the program and its other tests do not need.
clients=test/clients
if ! cmp -s $clients/package-lock.json $clients/node_modules/.installed-lock; then
  echo "millrace: installing the clients of $clients (npm ci)" >&2
  install() { npm ci --prefix $clients --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error </dev/null >&2; }
  install || install || install || exit 1
  cp $clients/package-lock.json $clients/node_modules/.installed-lock
fi
sh scripts/bun.sh test/kit/engines/fetch.ts && exit 0
[ -z "${CI:-}" ] || exit 1
echo "e2e: tests of the engines that are missing will be skipped" >&2
