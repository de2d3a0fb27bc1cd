import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { localUrl } from './local-url.js';

/** A film with the controls of the browser. `playlist`: HLS; `file`: one file; `poster`: a picture. */
export function Film({ playlist, file, poster, title }) {
  const video = useRef();
  const [problem, setProblem] = useState();
  useEffect(() => {
    setProblem(undefined);
    const element = video.current;
    if (!playlist) {
      element.src = localUrl(file);
      return undefined;
    }
    let player;
    let isOver = false;
    const start = async () => {
      const { default: Hls } = await import('hls.js');
      if (isOver) return;
      if (!Hls.isSupported()) {
        element.src = localUrl(playlist);
        return;
      }
      player = new Hls({ maxBufferLength: 30 });
      player.on(Hls.Events.ERROR, (_, { fatal, details }) => fatal && setProblem(details));
      player.loadSource(localUrl(playlist));
      player.attachMedia(element);
    };
    start().catch(() => setProblem('the player did not load'));
    return () => {
      isOver = true;
      player?.destroy();
    };
  }, [playlist, file]);
  return html`<div class="film">
    <video ref=${video} controls playsinline preload="metadata" aria-label=${title} poster=${localUrl(poster)}
      onError=${() => setProblem('this browser cannot decode it')}></video>
    ${problem && html`<p class="problem" role="alert">The film cannot be played: ${problem}.</p>`}
  </div>`;
}

/** A picture of a film; under the pointer the one of that moment. */
export function Still({ thumbnail, storyboard }) {
  const box = useRef();
  const [cues, setCues] = useState();
  const { failures, hasFailed, onError } = useRetry();
  const load = async () => {
    if (!storyboard || cues) return;
    try {
      setCues(cuesOf(await (await fetch(localUrl(storyboard))).text(), localUrl(storyboard)));
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
        ? html`<img key=${failures} src=${localUrl(thumbnail)} alt="" loading="lazy" onError=${onError} />`
        : html`<span class="muted" aria-hidden="true">No picture</span>`
    }
  </div>`;
}

/** ms after which a picture is asked for again. */
const retryTimes = [2000, 5000, 10_000];

/** A busy server answers 503 for a picture that it would have to make. */
function useRetry() {
  const [failures, setFailures] = useState(0);
  const [hasFailed, setFailed] = useState(false);
  const timer = useRef();
  useEffect(() => () => clearTimeout(timer.current), []);
  const onError = () => {
    setFailed(true);
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
    return { sheet: new URL(path, location.origin + url).pathname, x, y, width, height };
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
