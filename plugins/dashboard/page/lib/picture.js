import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { refuseToken, tokenOf, withToken } from './playback-token.js';

/** A playlist that fails is asked for again after this, ms. */
const again = 2000;

const liveConfig = { lowLatencyMode: true, maxLiveSyncPlaybackRate: 1.5, backBufferLength: 20 };
const retry = { maxNumRetry: 30, retryDelayMs: 500, maxRetryDelayMs: 2000 };
const patient = {
  maxTimeToFirstByteMs: 12_000,
  maxLoadTimeMs: 20_000,
  timeoutRetry: retry,
  errorRetry: retry,
};

/**
 * The picture of a playlist of a thing (`of`), 16:9. Live: muted, at the live edge, with `sid` by which the server tells this viewer from others.
 * `onPlaying` when it moves, `onTracks({codecs, width, height, fps})` when they are known, `video` gets the element.
 */
export function Picture({ url, of, isLive = false, sid, onPlaying, onTracks, video: given }) {
  const own = useRef();
  const video = given ?? own;
  const [turn, setTurn] = useState(0);
  const [problem, setProblem] = useState();
  useEffect(() => {
    let hls;
    let timer;
    let isOver = false;
    const fail = (text) => {
      setProblem(text);
      timer = setTimeout(() => setTurn((value) => value + 1), again);
    };
    const start = async () => {
      const [{ default: Hls }, token] = await Promise.all([import('hls.js'), tokenOf(of)]);
      if (isOver) return;
      const source = withToken(url, token);
      if (!Hls.isSupported()) {
        video.current.src = source;
        return;
      }
      hls = new Hls({
        ...(isLive && liveConfig),
        ...(sid && { cmcd: { sessionId: sid } }),
        enableWorker: false,
        playlistLoadPolicy: { default: patient },
        fragLoadPolicy: { default: patient },
      });
      hls.on(Hls.Events.MANIFEST_PARSED, (_, { levels }) => {
        onTracks?.(tracksOf(levels[0]));
        if (isLive) void video.current?.play().catch(() => {});
      });
      hls.on(Hls.Events.ERROR, (_, data) => {
        if (!data.fatal || isOver) return;
        if (data.type === Hls.ErrorTypes.MEDIA_ERROR) hls.recoverMediaError();
        else {
          hls.destroy();
          const isRefused = data.response?.code === 403;
          if (isRefused) refuseToken(of);
          fail(isRefused && token ? refusal : 'The picture does not come. It is tried again by itself.');
        }
      });
      hls.loadSource(source);
      hls.attachMedia(video.current);
    };
    start().catch(() => fail('The player did not load. It is tried again by itself.'));
    return () => {
      isOver = true;
      clearTimeout(timer);
      hls?.destroy();
    };
  }, [url, of.playbackPolicy?.type, turn]);
  const playing = () => {
    setProblem(undefined);
    onPlaying?.();
  };
  return html`<div class="picture">
    <video ref=${video} muted=${isLive} autoplay=${isLive} playsinline controls aria-label="Picture" onPlaying=${playing}></video>
    ${problem && html`<p class="over" role="status">${problem}</p>`}
  </div>`;
}

const refusal =
  'The policy refuses this browser: its address, or a change a moment ago. It is tried again by itself.';

/** In the place of a picture: why there is none. */
export function NoPicture({ children }) {
  return html`<div class="picture"><div class="over">${children}</div></div>`;
}

function tracksOf({ width, height, attrs, videoCodec, audioCodec }) {
  return { width, height, videoCodec, audioCodec, fps: Number(attrs['FRAME-RATE']) || undefined };
}

const names = {
  avc1: 'H.264',
  avc3: 'H.264',
  hvc1: 'HEVC',
  hev1: 'HEVC',
  av01: 'AV1',
  vp09: 'VP9',
  mp4a: 'AAC',
};

/** `H.264 1920×1080, 30 fps, AAC`. */
export function trackText({ width, height, videoCodec, audioCodec, fps }) {
  const name = (codec) => names[codec?.split('.')[0]] ?? codec?.split('.')[0];
  return [
    videoCodec && `${name(videoCodec)}${width ? ` ${width}×${height}` : ''}`,
    fps && `${Math.round(fps * 100) / 100} fps`,
    name(audioCodec) ?? 'no sound',
  ]
    .filter(Boolean)
    .join(', ');
}

const stillEvery = 5000;

/** A still of a broadcast that refreshes while it is seen. One that fails leaves the last one. */
export function Still({ of, name }) {
  const [shown, setShown] = useState();
  const { playbackId, playbackPolicy } = of;
  useEffect(() => {
    let isOver = false;
    const load = async () => {
      if (document.hidden) return;
      const token = await tokenOf(of);
      if (isOver) return;
      const url = withToken(`/hls/${playbackId}/thumbnail.jpg?at=${Date.now()}`, token);
      const next = new Image();
      next.onload = () => isOver || setShown(url);
      // It may be of before a change.
      next.onerror = () => token && refuseToken(of);
      next.src = url;
    };
    void load();
    const timer = setInterval(load, stillEvery);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [playbackId, playbackPolicy?.type]);
  return html`<div class="picture">
    ${shown && html`<img src=${shown} alt=${`Still of ${name}`} />`}
  </div>`;
}
