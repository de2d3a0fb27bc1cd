#!/bin/sh
# Makes sure that what the e2e tests drive is on this machine: ffmpeg, Chromium, GStreamer, librtmp and one font.
# Looks first; installs only what is missing, with the system's package manager and only where it may (root, or sudo
# without a password). Otherwise one line says what to install, and it exits 1.
set -u

has() { command -v "$1" >/dev/null 2>&1; }
has_chromium() { has chromium || has chromium-browser || has google-chrome || has google-chrome-stable; }
has_font() { find /usr/share/fonts /usr/local/share/fonts "${HOME:-/}/.fonts" /System/Library/Fonts \
  \( -name '*.ttf' -o -name '*.otf' -o -name '*.ttc' -o -name '*.pfb' \) 2>/dev/null | grep -q .; }
has_gstreamer() { for element in rtmp2sink flvmux openh264enc voaacenc; do
  gst-inspect-1.0 --exists "$element" 2>/dev/null || return 1
done; }
has_librtmp() { find /usr/lib* /lib* /usr/local/lib* -name 'librtmp.so.1' 2>/dev/null | grep -q .; }
list_missing() {
  has ffmpeg || echo ffmpeg
  has_chromium || echo chromium
  has_font || echo font
  has_gstreamer || echo gstreamer
  has_librtmp || echo librtmp
}

missing=$(list_missing | tr '\n' ' ')
[ -z "$missing" ] && exit 0

root=
if [ "$(id -u)" != 0 ]; then
  if has sudo && sudo -n true 2>/dev/null; then root="sudo -n"; else root=no; fi
fi
if [ "$root" != no ]; then
  echo "e2e: installing $missing" >&2
  if has apt-get; then
    gst=gstreamer1.0
    packages=$(echo "$missing" | sed "s/font /fonts-dejavu-core /; s/librtmp /librtmp1 /;
      s/gstreamer /$gst-tools $gst-plugins-base $gst-plugins-good $gst-plugins-bad glib-networking /")
    export DEBIAN_FRONTEND=noninteractive
    { $root apt-get update -q && $root apt-get install -yq --no-install-recommends $packages; } </dev/null >&2
  elif has apk; then
    $root apk add $(echo "$missing" | sed 's/font /font-dejavu /; s/librtmp /librtmp /;
      s/gstreamer /gstreamer-tools gst-plugins-base gst-plugins-good gst-plugins-bad glib-networking /') >&2
  elif has dnf; then
    $root dnf install -y $(echo "$missing" | sed 's/ffmpeg /ffmpeg-free /; s/font /dejavu-sans-fonts /;
      s/gstreamer /gstreamer1 gstreamer1-plugins-base-tools gstreamer1-plugins-good gstreamer1-plugins-bad-free /') >&2
  elif has pacman; then
    $root pacman -S --noconfirm --needed $(echo "$missing" | sed 's/font /ttf-dejavu /; s/librtmp /rtmpdump /;
      s/gstreamer /gst-plugins-base gst-plugins-good gst-plugins-bad /') >&2
  fi
  missing=$(list_missing | tr '\n' ' ')
  [ -z "$missing" ] && exit 0
fi
echo "e2e: install what is missing here and run again: $missing" >&2
exit 1
