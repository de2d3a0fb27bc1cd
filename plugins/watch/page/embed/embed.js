/** The player in a frame: what `Playback` plays, with the skin of media-chrome, for pages of every origin. */

import { idOf } from '../look-up.js';
import { Playback } from '../playback.js';
import { Broadcast } from './broadcast.js';
import { Host } from './host.js';
import { listenForKeys } from './keys.js';
import { optionsOf } from './options.js';
import { offerQualities } from './qualities.js';

const id = idOf(location.pathname);
const options = optionsOf(location.search);
const Hls = window.Hls?.isSupported() ? window.Hls : undefined;
const frame = element('frame');
const video = document.createElement('video');
const host = new Host(video);
/** Words that stay away: the next picture says more. */
const SILENT = ['Looking for the video …', 'The broadcast is starting …'];
let isMutedHere = false;

if (options.color) document.documentElement.style.setProperty('--accent', options.color);
Object.assign(video, { slot: 'media', playsInline: true, muted: options.muted });
video.setAttribute('aria-label', 'Video');
// media-chrome reads both from the video.
video.streamType = 'on-demand';
frame.prepend(video);
const playback = new Playback(id, {
  ...{ video, Hls, show, token: options.token, start: options.start, isWanted: options.autoplay },
});
window.millrace = playback;
offerQualities({ video, playback, Hls });
const broadcast = new Broadcast({ playback, token: options.token });
listenForKeys({ video, playback, broadcast, frame });
host.obey({ playback, broadcast });

// Before media-chrome plays or pauses the video itself.
frame.addEventListener('mediaplayrequest', () => broadcast.resume(), true);
frame.addEventListener('mediapauserequest', () => broadcast.pause(), true);
for (const event of ['play', 'pause', 'playing', 'emptied']) video.addEventListener(event, showParts);
element('poster').addEventListener('error', () => element('poster').toggleAttribute('hidden', true), true);

function show({ state, message, recording = '', isForbidden }) {
  if (isForbidden && options.autoplay && !isMutedHere) {
    // A browser that forbids sound allows the picture.
    isMutedHere = true;
    video.muted = true;
    playback.play();
  }
  if (message === undefined) return;
  const text = element('message');
  const shown = SILENT.includes(message) ? '' : message;
  // Written only when it differs: each write is read out to whoever listens.
  if (text.textContent !== shown) text.textContent = shown;
  element('recording').hidden = recording === '';
  if (recording !== '')
    element('recording').href = `/embed/${encodeURIComponent(recording)}${location.search}`;
  element('notice').hidden = shown === '' && recording === '';
  host.note({ state, message, recording });
  // The first call comes from the constructor.
  queueMicrotask(showParts);
}

function showParts() {
  const { state, isFilm, found } = playback;
  const isLive = !isFilm && state !== 'waiting';
  video.streamType = isLive ? 'live' : 'on-demand';
  for (const name of ['film-bar', 'time']) element(name).toggleAttribute('hidden', !isFilm);
  // At the live edge `Playback` sets it.
  element('speed').toggleAttribute('hidden', !isFilm && !playback.isDvr);
  element('live').hidden = !isLive || state === 'loading' || state === 'ready';
  const hasPicture = video.played.length > 0;
  element('big').toggleAttribute('hidden', hasPicture || !(state === 'ready' || (isFilm && video.paused)));
  showPoster(found, hasPicture);
}

/** The server writes into the page whether it makes stills. */
function showPoster(found, hasPicture) {
  const playlist =
    found?.is === 'film' ? found.sources.find(({ type }) => type.includes('mpegurl'))?.url : undefined;
  const path = playlist ? new URL(playlist).pathname : found?.isOn ? found.source : undefined;
  if (!('stills' in document.documentElement.dataset) || !path || hasPicture) return;
  const poster = element('poster');
  if (poster.hasAttribute('src')) return;
  poster.setAttribute('src', options.sent(path.replace(/[^/]+$/, 'thumbnail.jpg')));
  poster.toggleAttribute('hidden', false);
  if (found.is !== 'film') return;
  const track = document.createElement('track');
  Object.assign(track, { kind: 'metadata', label: 'thumbnails', default: true });
  track.src = options.sent(path.replace(/[^/]+$/, 'storyboard.vtt'));
  video.append(track);
}

function element(id) {
  return document.getElementById(id);
}
