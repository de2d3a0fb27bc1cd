import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { localUrl } from './local-url.js';
import { mayNeedToken, refuseToken, tokenOf, useToken, withToken } from './playback-token.js';

/** Times that a film is asked for again after it was refused, and ms between them: the token may be of before a change. */
const moreTries = 3;
const between = 2000;

/** The film of an asset with the controls of the browser. */
export function Film({ asset }) {
  const { playbackUrl: playlist, downloadUrl: file, thumbnailUrl: poster, name: title } = asset;
  const video = useRef();
  const [problem, setProblem] = useState();
  const [tries, setTries] = useState(0);
  const urlOf = useToken(asset, { turn: tries });
  useEffect(() => {
    setProblem(undefined);
    const element = video.current;
    let player;
    let timer;
    let isOver = false;
    const fail = ({ fatal, details, response }) => {
      if (!fatal || isOver) return;
      if (response?.code !== 403 || tries >= moreTries) return setProblem(details);
      refuseToken(asset);
      timer = setTimeout(() => setTries(tries + 1), between);
    };
    const start = async () => {
      const [token, library] = await Promise.all([tokenOf(asset), playlist && import('hls.js')]);
      if (isOver) return;
      if (!playlist) {
        element.src = withToken(file, token);
        return;
      }
      const { default: Hls } = library;
      if (!Hls.isSupported()) {
        element.src = withToken(playlist, token);
        return;
      }
      player = new Hls({ maxBufferLength: 30 });
      player.on(Hls.Events.ERROR, (_, data) => fail(data));
      player.loadSource(withToken(playlist, token));
      player.attachMedia(element);
    };
    start().catch(() => setProblem('the player did not load'));
    return () => {
      isOver = true;
      clearTimeout(timer);
      player?.destroy();
    };
  }, [playlist, file, asset.playbackPolicy?.type, tries]);
  return html`<div class="film">
    <video ref=${video} controls playsinline preload="metadata" aria-label=${title} poster=${urlOf?.(poster)}
      onError=${() => setProblem('this browser cannot decode it')}></video>
    ${problem && html`<p class="problem" role="alert">The film cannot be played: ${problem}.</p>`}
  </div>`;
}

/** A picture of a film; under the pointer the one of that moment. */
export function Still({ asset }) {
  const { thumbnailUrl: thumbnail, storyboardUrl: storyboard } = asset;
  const box = useRef();
  const [cues, setCues] = useState();
  const { failures, hasFailed, onError } = useRetry(() => mayNeedToken(asset) && refuseToken(asset));
  // Nothing that is not there yet has a token.
  const urlOf = useToken(thumbnail ? asset : {}, { turn: failures, box });
  const load = async () => {
    if (!storyboard || cues || !urlOf) return;
    try {
      const url = urlOf(storyboard);
      setCues(cuesOf(await (await fetch(url)).text(), url));
    } catch {
      // The still remains.
    }
  };
  const move = (event) => {
    if (!cues?.length) return;
    const { left, width } = box.current.getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * cues.length);
    show(box.current, cues[Math.min(Math.max(at, 0), cues.length - 1)]);
  };
  const leave = () => {
    box.current.firstElementChild.style.display = 'none';
  };
  return html`<div class="still" ref=${box} onMouseEnter=${load} onMouseMove=${move} onMouseLeave=${leave}>
    <div class="moment"></div>
    ${
      thumbnail && !hasFailed
        ? urlOf &&
          html`<img key=${failures} src=${urlOf(thumbnail)} alt="" loading="lazy" onError=${onError} />`
        : html`<span class="muted" aria-hidden="true">No picture</span>`
    }
  </div>`;
}

/** ms after which a picture is asked for again. */
const retryTimes = [2000, 5000, 10_000];

/** A busy server answers 503 for a picture that it would have to make. `before`: what is done before it is asked again. */
function useRetry(before) {
  const [failures, setFailures] = useState(0);
  const [hasFailed, setFailed] = useState(false);
  const timer = useRef();
  useEffect(() => () => clearTimeout(timer.current), []);
  const onError = () => {
    setFailed(true);
    before();
    const time = retryTimes[failures];
    if (time === undefined) return;
    timer.current = setTimeout(() => {
      setFailures(failures + 1);
      setFailed(false);
    }, time);
  };
  return { failures, hasFailed, onError };
}

function cuesOf(text, url) {
  const sheet = /(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)/g;
  return [...text.matchAll(sheet)].map(([, path, ...numbers]) => {
    const [x, y, width, height] = numbers.map(Number);
    return { sheet: localUrl(new URL(path, location.origin + url)), x, y, width, height };
  });
}

/** Shows one tile of the sheet, as large as the box. */
function show(box, { sheet, x, y, width, height }) {
  const layer = box.firstElementChild;
  const scale = Math.min(box.clientWidth / width, box.clientHeight / height);
  Object.assign(layer.style, {
    display: 'block',
    width: `${width}px`,
    height: `${height}px`,
    backgroundImage: `url("${sheet}")`,
    backgroundPosition: `-${x}px -${y}px`,
    transform: `translate(-50%, -50%) scale(${scale})`,
  });
}
