#!/bin/sh
# Makes sure that what the e2e tests drive is on this machine: encoders, receivers, a browser and what the guides use (scripts/tools.sh), and
# the real engines Redis, Kafka and S3 (test/kit/engines). Looks first, installs only what is missing. Exits 1 when a
# tool could not be had. Tests of an engine that could not, of nginx-rtmp, x264enc or WebKitGTK, are skipped, except in CI.
set -u
cd "$(dirname "$0")/.."

sh scripts/tools.sh ffmpeg chromium font gstreamer librtmp || exit 1
# For the commands of the guides.
sh scripts/tools.sh jq php || exit 1
# Not every system packages its RTMP module, or x264 for GStreamer.
sh scripts/tools.sh nginx || [ -z "${CI:-}" ] || exit 1
sh scripts/tools.sh x264enc || [ -z "${CI:-}" ] || exit 1
sh scripts/tools.sh webkit || [ -z "${CI:-}" ] || exit 1
sh scripts/bun.sh test/kit/engines/fetch.ts && exit 0
[ -z "${CI:-}" ] || exit 1
echo "e2e: tests of the engines that are missing will be skipped" >&2
