/**
 * Plays what is behind the id in its path. A live stream, `/hls/{playbackId}/index.m3u8`, it keeps at: nothing on, the
 * server gone, the broadcast back after a break, a broken buffer. One hls.js instance lives as long as the page does. An
 * asset or a recording is handed over to `film.js` for good.
 *
 * States: `waiting` (nothing to play, asking now and then), `loading`, `playing`, `stalled` (the picture
 * stands still although something should be on), `film`.
 */
import { playFilm } from './film.js';
import { INTERRUPTED, lookUp } from './look-up.js';
import { Pace } from './pace.js';

const playbackId = decodeURIComponent(location.pathname.replace(/\/+$/, '').split('/').pop() ?? '');
/** Of a session that is on the air, that of its stream. */
let source = `/hls/${encodeURIComponent(playbackId)}/index.m3u8`;
const Hls = window.Hls;
const video = element('video');
const usesHls = Hls?.isSupported() === true;

/** For tests and for whoever looks into a problem. `log` keeps the last 200 events. */
const millrace = { hls: null, video, state: 'loading', fatalErrors: 0, log: [] };
window.millrace = millrace;

const FIRST_WAIT = 1000;
const LONGEST_WAIT = 5000;
/** Seconds without a new picture, while the playlist moves on, after which the next remedy is tried. */
const REMEDIES = [
  { after: 0.75, cure: stepForward },
  { after: 3, cure: seekToLive },
  { after: 10, cure: rebuildBuffers },
  { after: 20, cure: loadAnew },
];
/** A playlist that did not move for so long says that nobody sends: no remedy helps, waiting does. */
const FRESH = 5000;
/** Without a stall for so long, the delay goes back to what the playlist asks for. */
const CALM = 20_000;
/** From here on after the first picture a stall makes the delay longer, by this many seconds. */
const SETTLED = 5000;
/** How often the server is asked why the picture stands still. */
const EXPLAIN = 2000;
const STALL_INCREASE = 0.25;
/** Seconds behind the wanted delay from which catching up by speed would take too long. */
const TOO_FAR = 6;

let isPausedByUser = false;
let waiting = 0;
let advancedAt = 0;
let stalledAt = 0;
let rebuiltAt = 0;
let explainedAt = 0;
const pace = new Pace();
const still = { since: performance.now(), at: -1, freshSince: 0, tried: 0 };

setControls();
setInterval(watchPicture, 500);
setInterval(keepPace, 100);
video.addEventListener('playing', () => become(millrace.state === 'film' ? 'film' : 'playing', ''));
video.addEventListener('playing', () => setTimeout(countStalls, SETTLED), { once: true });
video.addEventListener('ended', () => millrace.state === 'film' || waitForBroadcast(''));
if (usesHls) millrace.hls = createPlayer();
else video.addEventListener('error', () => millrace.state === 'film' || waitForBroadcast(''));
void waitForBroadcast('Looking for the video …', 0);

function createPlayer() {
  const forEver = (maxRetryDelayMs) => ({
    maxNumRetry: Number.POSITIVE_INFINITY,
    retryDelayMs: 500,
    maxRetryDelayMs,
    // hls.js gives up on 4xx and on a refused connection; here both may pass.
    shouldRetry: () => true,
  });
  const patient = {
    maxTimeToFirstByteMs: 12_000,
    maxLoadTimeMs: 20_000,
    timeoutRetry: forEver(1000),
    errorRetry: forEver(2000),
  };
  const hls = new Hls({
    lowLatencyMode: true,
    // `keepPace` does it.
    maxLiveSyncPlaybackRate: 1,
    // A viewer who is there before the first whole segment stands still until it comes; that says nothing of
    // the network, so stalls count only from SETTLED on.
    liveSyncOnStallIncrease: 0,
    backBufferLength: 20,
    maxBufferLength: 20,
    maxMaxBufferLength: 30,
    // It was there a moment ago; when it is gone again, asking starts over.
    manifestLoadPolicy: {
      default: { ...patient, errorRetry: { ...patient.errorRetry, maxNumRetry: 4, shouldRetry: undefined } },
    },
    playlistLoadPolicy: { default: patient },
    fragLoadPolicy: { default: patient },
  });
  hls.on(Hls.Events.MANIFEST_PARSED, play);
  hls.on(Hls.Events.LEVEL_UPDATED, (_, { details }) => {
    if (details.advanced) noteAdvance();
    // hls.js adds to the delay with each stall, but never takes that back.
    const wanted = details.partHoldBack;
    const isCalm = performance.now() - stalledAt > CALM && hls.targetLatency > wanted;
    if (details.partHoldBack > 0 && (isCalm || hls.config.liveSyncDuration !== wanted))
      hls.targetLatency = wanted;
  });
  hls.on(Hls.Events.ERROR, (_, data) => {
    note(`${data.fatal ? 'fatal ' : ''}${data.details} ${data.response?.code ?? data.error?.message ?? ''}`);
    if (data.details === Hls.ErrorDetails.BUFFER_STALLED_ERROR) stalledAt = performance.now();
    const isGone = data.response?.code === 404 || data.response?.code === 410;
    if (data.fatal) {
      millrace.fatalErrors += 1;
      // After the handlers of hls.js itself, which still see this error.
      if (data.type === Hls.ErrorTypes.MEDIA_ERROR) setTimeout(rebuildBuffers);
      else setTimeout(waitForBroadcast, 0, 'The broadcast is starting again …', 250);
    } else if (isGone && /^(level|manifest)Load/.test(data.details)) {
      setTimeout(waitForBroadcast, 0, '', 0);
    }
  });
  hls.attachMedia(video);
  return hls;
}

function countStalls() {
  if (millrace.hls) millrace.hls.config.liveSyncOnStallIncrease = STALL_INCREASE;
}

/**
 * Asks for the playlist, first after `firstWait` ms and then less and less often, and plays once it is there. Without one
 * it asks what else there is to play, and why there is nothing.
 */
async function waitForBroadcast(message, firstWait = FIRST_WAIT) {
  if (millrace.state === 'waiting' || millrace.state === 'film') return;
  become('waiting', message);
  millrace.hls?.stopLoad();
  const turn = ++waiting;
  for (let wait = firstWait; ; wait = Math.min(Math.max(wait * 1.4, FIRST_WAIT), LONGEST_WAIT)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (turn !== waiting) return;
    const answer = await ask();
    if (turn !== waiting) return;
    if (answer === 200) break;
    const found = await lookUp(playbackId);
    if (turn !== waiting) return;
    if (found.is === 'film') return showFilm(found);
    // A session is found by its own id, and played by its stream's.
    source = found.source ?? source;
    become('waiting', found.message, found.recording);
  }
  load();
}

/** An asset or a recording stays one: what watches over a live picture ends. */
function showFilm({ sources }) {
  waiting += 1;
  millrace.hls?.destroy();
  for (const id of ['controls', 'behind']) element(id).hidden = true;
  video.setAttribute('aria-label', 'Video');
  video.playbackRate = 1;
  become('film', '');
  const isThere = async () => {
    const found = await lookUp(playbackId);
    become('film', found.message ?? '');
    return found.is === 'film';
  };
  millrace.hls = playFilm(sources, { video, Hls: usesHls ? Hls : undefined, isThere, note });
}

/** While the picture stands still: whether the broadcaster's connection dropped. */
async function explain() {
  if (performance.now() - explainedAt < EXPLAIN) return;
  explainedAt = performance.now();
  const { is, message } = await lookUp(playbackId);
  // What starts was never gone: the fault is elsewhere.
  if (millrace.state === 'stalled' && (is === 'unreachable' || message === INTERRUPTED))
    become('stalled', message);
}

/** The HTTP status of the playlist; 0 when there is no answer. */
async function ask() {
  try {
    const response = await fetch(source, { cache: 'no-store', signal: AbortSignal.timeout(15_000) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

function load() {
  waiting += 1;
  become('loading', 'The broadcast is starting …');
  restartClock();
  if (usesHls) millrace.hls.loadSource(source);
  else {
    video.src = source;
    play();
  }
}

function play() {
  if (isPausedByUser) return;
  video.play().catch((error) => {
    // An interrupted attempt is followed by another; a forbidden one needs a press of the button.
    if (error.name === 'NotAllowedError') isPausedByUser = true;
    showButtons();
  });
}

/** Twice a second: is the picture moving, and if not, what helps? */
function watchPicture() {
  showReadout();
  const now = performance.now();
  const { hls, state } = millrace;
  if (state === 'film') return;
  const hasMoved = video.currentTime !== still.at;
  if (hasMoved || isPausedByUser || document.hidden || state === 'waiting') {
    restartClock();
    if (hasMoved && state === 'stalled') become('playing', '');
    if (state === 'playing' && hls && !isPausedByUser && hls.latency > (hls.targetLatency ?? 2) + TOO_FAR)
      seekToLive();
    return;
  }
  const seconds = (now - still.since) / 1000;
  if (seconds > 1.5 && state === 'playing')
    become('stalled', 'The picture stands still. It goes on here by itself …');
  if (millrace.state === 'stalled') void explain();
  const remedy = REMEDIES[still.tried];
  if (!hls || still.freshSince === 0 || now - advancedAt > FRESH) return;
  const waited = (now - still.freshSince) / 1000;
  if (waited < remedy.after) return;
  still.tried = (still.tried + 1) % REMEDIES.length;
  if (still.tried === 0) still.freshSince = now;
  note(`still for ${seconds.toFixed(1)} s: ${remedy.cure.name}`);
  remedy.cure();
  // The step itself is no picture that moves.
  still.at = video.currentTime;
}

/** Ten times a second: nearer to live, or no further from it, by the speed of playing. */
function keepPace() {
  const { hls, state } = millrace;
  const details = hls?.latestLevelDetails;
  if (!details || state !== 'playing' || video.paused || video.seeking || !hls.targetLatency) {
    pace.reset();
    return;
  }
  const rate = pace.next({
    behind: details.edge + details.age - video.currentTime,
    wanted: hls.targetLatency,
    ahead: bufferedEnd() - video.currentTime,
    now: performance.now(),
  });
  if (video.playbackRate !== rate) video.playbackRate = rate;
}

function restartClock() {
  still.since = performance.now();
  still.at = video.currentTime;
  still.freshSince = 0;
  still.tried = 0;
}

/** After a break the remedies begin anew: what was tried while nobody sent could not help. */
function noteAdvance() {
  const now = performance.now();
  if (still.freshSince === 0 || now - advancedAt > FRESH) {
    still.freshSince = now;
    still.tried = 0;
  }
  advancedAt = now;
}

/**
 * Where audio ends before the pictures of its segment do, hls.js takes the next segment for loaded and waits
 * for ever. Over the seam it goes on.
 */
function stepForward() {
  const { hls } = millrace;
  const edge = hls.latestLevelDetails?.edge ?? 0;
  const target = Math.max(bufferedEnd() + 0.15, hls.liveSyncPosition ?? 0);
  if (millrace.state === 'loading' || edge < target + 0.3) return;
  note(`step from ${video.currentTime.toFixed(2)} to ${target.toFixed(2)}`);
  video.currentTime = target;
}

/** Where the media that is being played ends. */
function bufferedEnd() {
  const { buffered, currentTime } = video;
  for (let i = 0; i < buffered.length; i++) {
    if (buffered.start(i) <= currentTime + 0.1 && currentTime <= buffered.end(i)) return buffered.end(i);
  }
  return currentTime;
}

function seekToLive() {
  const { hls } = millrace;
  const edge = hls ? hls.liveSyncPosition : video.seekable.length > 0 ? video.seekable.end(0) - 3 : null;
  // Never back: while nobody sends, the wanted place lies behind the last picture.
  if (edge === null || edge < video.currentTime + 0.5) {
    play();
    return;
  }
  note(`seek from ${video.currentTime.toFixed(1)} to ${edge.toFixed(1)}`);
  video.currentTime = edge;
  play();
}

/** A second failure right after the first one needs more than new buffers. */
function rebuildBuffers() {
  const now = performance.now();
  if (now - rebuiltAt < 8000) {
    loadAnew();
    return;
  }
  rebuiltAt = now;
  millrace.hls.recoverMediaError();
  play();
}

function loadAnew() {
  void waitForBroadcast('The broadcast is starting again …', 250);
}

/** @param recording path of the page that plays it, where there is one */
function become(state, message, recording = '') {
  if (millrace.state !== state) note(`${millrace.state} → ${state}`);
  millrace.state = state;
  const text = element('message');
  // Written only when it differs: each write is read out to whoever listens.
  if (text.textContent !== message) text.textContent = message;
  element('live').hidden = state !== 'playing';
  element('recording').hidden = recording === '';
  if (recording !== '') element('recording').href = recording;
  element('notice').hidden = message === '' && recording === '';
}

function note(text) {
  millrace.log.push({ at: Date.now(), text });
  if (millrace.log.length > 200) millrace.log.shift();
}

function setControls() {
  element('play').addEventListener('click', () => {
    isPausedByUser = !video.paused;
    if (isPausedByUser) video.pause();
    else if (millrace.state === 'playing' || millrace.state === 'stalled') seekToLive();
    else play();
  });
  element('sound').addEventListener('click', () => {
    video.muted = !video.muted;
  });
  element('edge').addEventListener('click', () => {
    isPausedByUser = false;
    seekToLive();
  });
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
  const { hls } = millrace;
  const ahead = bufferedEnd() - video.currentTime;
  const isFilm = millrace.state === 'film';
  const isOn = millrace.state === 'playing' || isFilm;
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
