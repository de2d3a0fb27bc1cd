import { pathOf, withToken } from './look-up.js';

/** How long to wait before a film that failed is loaded again, ms; the last one repeats. */
const WAITS = [1000, 2000, 4000, 8000];

/**
 * Plays a film: HLS where there is some, else the file, which the browser plays by itself. A film that fails is loaded again where it
 * stood. Answers the hls.js instance, if it uses one.
 *
 * @param options `Hls`: undefined where the browser does without; `isThere`: asked before each new try; `start`: seconds;
 * `isWanted`: false until somebody pressed play
 */
export function playFilm(sources, { video, Hls, isThere, note, isWanted, token = '', start = 0 }) {
  const playlist = sources.find(({ type }) => type.includes('mpegurl'));
  const file = sources.find(({ type }) => type === 'html5/video/mp4');
  const sent = withToken(token);
  const hls = Hls && playlist ? new Hls(sent.hls) : null;
  let failures = 0;
  let place = start;

  const load = () => {
    if (hls) {
      hls.config.startPosition = place || -1;
      hls.loadSource(pathOf(playlist.url));
    } else {
      const isHls = playlist && (!file || video.canPlayType('application/vnd.apple.mpegurl'));
      video.src = sent.url(pathOf((isHls ? playlist : file).url));
      video.currentTime = place;
    }
    // Where the browser forbids it, the viewer presses play.
    if (isWanted()) video.play().catch(() => {});
  };
  const tryAgain = () => {
    const wait = WAITS[Math.min(failures, WAITS.length - 1)];
    failures += 1;
    setTimeout(async () => ((await isThere()) ? load() : tryAgain()), wait);
  };
  const noteFailure = (reason) => {
    note(`film: ${reason}`);
    place = video.currentTime || place;
    tryAgain();
  };

  // Before that, the first picture is enough.
  if (hls && !isWanted()) {
    const { maxBufferLength } = hls.config;
    hls.config.maxBufferLength = 1;
    video.addEventListener('play', () => Object.assign(hls.config, { maxBufferLength }), { once: true });
  }
  video.addEventListener('playing', () => {
    failures = 0;
  });
  if (hls) {
    hls.on(Hls.Events.ERROR, (_, { fatal, type, details }) => {
      if (!fatal) return;
      if (type !== Hls.ErrorTypes.MEDIA_ERROR || failures > 0) return noteFailure(details);
      failures += 1;
      hls.recoverMediaError();
    });
    hls.attachMedia(video);
  } else {
    video.addEventListener('error', () => noteFailure(video.error?.message));
  }
  load();
  return hls;
}
