#!/bin/sh
# Makes sure that tools are on this machine: `sh scripts/tools.sh <ffmpeg|chromium|font|gstreamer|librtmp|nginx|jq|php|x264enc|webkit|redis|java|maven …>`.
# Looks first; installs only what is missing, with the system's package manager and only where it may (root, or sudo
# without a password). Otherwise one line says what to install, and it exits 1.
set -u

has() { command -v "$1" >/dev/null 2>&1; }
has_ffmpeg() { has ffmpeg; }
has_chromium() { has chromium || has chromium-browser || has google-chrome || has google-chrome-stable; }
has_font() { find /usr/share/fonts /usr/local/share/fonts "${HOME:-/}/.fonts" /System/Library/Fonts \
  \( -name '*.ttf' -o -name '*.otf' -o -name '*.ttc' -o -name '*.pfb' \) 2>/dev/null | grep -q .; }
has_gstreamer() { for element in rtmp2sink flvmux openh264enc voaacenc; do
  gst-inspect-1.0 --exists "$element" 2>/dev/null || return 1
done; }
has_librtmp() { find /usr/lib* /lib* /usr/local/lib* -name 'librtmp.so.1' 2>/dev/null | grep -q .; }
has_jq() { has jq; }
has_php() { has php; }
has_x264enc() { gst-inspect-1.0 --exists x264enc 2>/dev/null; }
has_webkit() { has WebKitWebDriver && has Xvfb && gst-inspect-1.0 --exists hlsdemux 2>/dev/null && gst-inspect-1.0 --exists avdec_h264 2>/dev/null; }
# With its RTMP module, which is a package of its own.
has_nginx() { [ -x /usr/sbin/nginx ] && find /usr/lib/nginx /usr/lib64/nginx /usr/share/nginx -name 'ngx_rtmp_module.so' 2>/dev/null | grep -q .; }
# Debian's redis-tools holds the whole program (test/kit/engines/redis.ts); its redis-server would start a service.
has_redis() { has redis-server || has redis-check-rdb; }
has_java() { for java in java /usr/lib/jvm/*/bin/java; do
  "$java" -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])' && return 0
done; return 1; }
has_maven() { has mvn; }
list_missing() { for tool; do "has_$tool" || echo "$tool"; done; }

missing=$(list_missing "$@" | tr '\n' ' ')
[ -z "$missing" ] && exit 0

root=
if [ "$(id -u)" != 0 ]; then
  if has sudo && sudo -n true 2>/dev/null; then root="sudo -n"; else root=no; fi
fi
had_nginx=yes
[ -x /usr/sbin/nginx ] || had_nginx=no
if [ "$root" != no ]; then
  echo "millrace: installing $missing" >&2
  if has apt-get; then
    $root apt-get update -q </dev/null >&2
    java=openjdk-17-jre-headless
    apt-cache show "$java" >/dev/null 2>&1 || java=default-jre-headless
    gst=gstreamer1.0
    packages=$(echo "$missing" | sed "s/font /fonts-dejavu-core /; s/librtmp /librtmp1 /; s/nginx /nginx libnginx-mod-rtmp /; s/redis /redis-tools /; s/php /php-cli /; s/x264enc /$gst-plugins-ugly /; s/java /$java /;
      s/webkit /webkit2gtk-driver xvfb $gst-tools $gst-plugins-base $gst-plugins-good $gst-plugins-bad $gst-libav /;
      s/gstreamer /$gst-tools $gst-plugins-base $gst-plugins-good $gst-plugins-bad glib-networking /")
    export DEBIAN_FRONTEND=noninteractive
    $root apt-get install -yq --no-install-recommends $packages </dev/null >&2
  elif has apk; then
    $root apk add $(echo "$missing" | sed 's/font /font-dejavu /; s/librtmp /librtmp /; s/php /php83 /; s/x264enc /gst-plugins-ugly /; s/java /openjdk17-jre-headless /;
      s/gstreamer /gstreamer-tools gst-plugins-base gst-plugins-good gst-plugins-bad glib-networking /') >&2
  elif has dnf; then
    $root dnf install -y $(echo "$missing" | sed 's/ffmpeg /ffmpeg-free /; s/x264enc /gstreamer1-plugins-ugly /; s/php /php-cli /; s/font /dejavu-sans-fonts /; s/java /java-21-openjdk-headless /;
      s/gstreamer /gstreamer1 gstreamer1-plugins-base-tools gstreamer1-plugins-good gstreamer1-plugins-bad-free /') >&2
  elif has pacman; then
    $root pacman -S --noconfirm --needed $(echo "$missing" | sed 's/font /ttf-dejavu /; s/x264enc /gst-plugins-ugly /; s/librtmp /rtmpdump /; s/java /jre-openjdk-headless /;
      s/gstreamer /gst-plugins-base gst-plugins-good gst-plugins-bad /') >&2
  fi
  # The package starts a server on port 80, which nobody asked for.
  if [ "$had_nginx" = no ] && has systemctl; then $root systemctl disable --now nginx >/dev/null 2>&1; fi
  missing=$(list_missing "$@" | tr '\n' ' ')
  [ -z "$missing" ] && exit 0
fi
echo "millrace: install what is missing here and run again: $missing" >&2
exit 1
