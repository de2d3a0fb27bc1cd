/** The watch page: what `Playback` plays, in words, buttons and figures. */
import { idOf } from './look-up.js';
import { bufferedEnd } from './pace.js';
import { Playback } from './playback.js';

const id = idOf(location.pathname);
const Hls = window.Hls?.isSupported() ? window.Hls : undefined;
const video = element('video');
const playback = new Playback(id, { video, Hls, show });
window.millrace = playback;

setControls();
setInterval(showReadout, 500);

function show({ state, message, recording = '' }) {
  if (message === undefined) return showButtons();
  const isFilm = state === 'film';
  if (isFilm) {
    video.controls = true;
    video.setAttribute('aria-label', 'Video');
    for (const name of ['controls', 'behind']) element(name).hidden = true;
  }
  const text = element('message');
  // Written only when it differs: each write is read out to whoever listens.
  if (text.textContent !== message) text.textContent = message;
  element('live').hidden = state !== 'playing';
  element('recording').hidden = recording === '';
  if (recording !== '') element('recording').href = `/watch/${encodeURIComponent(recording)}`;
  element('notice').hidden = message === '' && recording === '';
}

function setControls() {
  element('play').addEventListener('click', () => {
    if (!video.paused) playback.pause();
    else if (playback.state === 'playing' || playback.state === 'stalled') playback.goLive();
    else playback.play();
  });
  element('sound').addEventListener('click', () => {
    video.muted = !video.muted;
  });
  element('edge').addEventListener('click', () => playback.goLive());
  element('full').addEventListener('click', () => {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (video.requestFullscreen)
      element('stage')
        .requestFullscreen()
        .catch(() => {});
    else video.webkitEnterFullscreen?.();
  });
  for (const event of ['play', 'pause', 'volumechange']) video.addEventListener(event, showButtons);
}

function showButtons() {
  element('play').textContent = video.paused ? 'Play' : 'Pause';
  element('sound').textContent = video.muted ? 'Sound on' : 'Sound off';
}

function showReadout() {
  const { hls, isFilm } = playback;
  const ahead = bufferedEnd(video) - video.currentTime;
  const isOn = playback.state === 'playing' || isFilm;
  const level = hls?.levels[hls.currentLevel];
  const quality = video.getVideoPlaybackQuality?.();
  element('latency').textContent = isOn && !isFilm && hls?.latency ? `${hls.latency.toFixed(1)} s` : '–';
  element('picture').textContent = video.videoWidth ? `${video.videoWidth} × ${video.videoHeight}` : '–';
  element('rate').textContent = isOn && level?.bitrate ? `${(level.bitrate / 1e6).toFixed(1)} Mb/s` : '–';
  element('buffer').textContent = isOn ? `${ahead.toFixed(1)} s` : '–';
  element('dropped').textContent = quality
    ? `${quality.droppedVideoFrames} of ${quality.totalVideoFrames}`
    : '–';
}

function element(id) {
  return document.getElementById(id);
}
