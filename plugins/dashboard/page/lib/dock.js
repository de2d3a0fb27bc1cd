import { useEffect, useRef, useState } from 'preact/hooks';
import { allows } from './api.js';
import { bytes, duration } from './format.js';
import { html } from './html.js';
import { Dot, Problem } from './parts.js';
import { addFiles, cancel, chooseAgain, forget, pause, resume, uploads } from './uploads.js';

/** Uploads at the foot of every page, and the place where files can be dropped. */
export function Dock() {
  const [isFolded, setFolded] = useState(false);
  const isDropping = useDrop();
  const all = uploads.value;
  return html`${isDropping && html`<div class="drop-here">Drop the files to upload them</div>`}
    ${
      all.length > 0 &&
      html`<section class="dock" aria-label="Uploads">
      <header>
        <strong role="status">${summaryOf(all)}</strong>
        <button class="button plain" type="button" aria-expanded=${!isFolded} onClick=${() => setFolded(!isFolded)}>${isFolded ? 'Show' : 'Hide'}</button>
      </header>
      ${!isFolded && html`<ul>${all.map((upload) => html`<${Upload} key=${upload.id} ...${upload} />`)}</ul>`}
    </section>`
    }`;
}

function summaryOf(all) {
  const open = all.filter(({ state }) => state === 'sending' || state === 'waiting');
  const left = open.reduce((sum, { size, sent }) => sum + size - sent, 0);
  const speed = open.reduce((sum, upload) => sum + (upload.speed ?? 0), 0);
  if (open.length > 0)
    return `${open.length} ${open.length === 1 ? 'upload' : 'uploads'}${speed > 0 ? `, ${duration(Math.ceil(left / speed))} left` : ''}`;
  const halted = all.filter(({ state }) => state === 'paused' || state === 'lost').length;
  if (halted > 0) return `${halted} ${halted === 1 ? 'upload waits' : 'uploads wait'} for you`;
  return all.some(({ state }) => state === 'failed') ? 'Some uploads failed' : 'All files are uploaded';
}

function Upload({ id, name, size, sent, state, speed, problem, assetId }) {
  const isOpen = state !== 'done' && state !== 'failed';
  return html`<li>
    <div class="row">
      ${
        state === 'done'
          ? html`<a class="name" href=${`/dashboard/asset/${assetId}`}>${name}</a>`
          : html`<span class="name" title=${name}>${name}</span>`
      }
      <span class="end">
        ${state === 'sending' && html`<button class="copy" type="button" aria-label=${`Pause ${name}`} onClick=${() => pause(id)}>Pause</button>`}
        ${state === 'paused' && html`<button class="copy" type="button" aria-label=${`Resume ${name}`} onClick=${() => resume(id)}>Resume</button>`}
        ${isOpen && html`<button class="copy" type="button" aria-label=${`Cancel ${name}`} onClick=${() => cancel(id)}>Cancel</button>`}
        ${!isOpen && html`<button class="copy" type="button" aria-label=${`Dismiss ${name}`} onClick=${() => forget(id)}>Dismiss</button>`}
      </span>
    </div>
    ${isOpen && html`<progress max=${size} value=${sent} aria-label=${`${name}: how much is uploaded`}></progress>`}
    ${state === 'lost' ? html`<${Again} id=${id} sent=${sent} size=${size} />` : html`<${State} ...${{ state, size, sent, speed }} />`}
    <${Problem} text=${problem} />
  </li>`;
}

function State({ state, size, sent, speed }) {
  const parts = `${bytes(sent)} of ${bytes(size)}`;
  if (state === 'done') return html`<${Dot} kind="good">Uploaded, ${bytes(size)}<//>`;
  if (state === 'failed') return html`<${Dot} kind="bad">Failed<//>`;
  if (state === 'paused') return html`<${Dot} kind="wait">Paused, ${parts}<//>`;
  if (state === 'waiting') return html`<${Dot} kind="quiet">Waits for the others<//>`;
  const rest = speed ? `, ${bytes(speed)}/s, ${duration(Math.ceil((size - sent) / speed))} left` : '';
  return html`<span class="muted">${parts}${rest}</span>`;
}

/** A browser gives a page no file of an earlier visit. */
function Again({ id, sent, size }) {
  const input = useRef();
  const [problem, setProblem] = useState();
  return html`<div class="row">
    <${Dot} kind="wait">Interrupted at ${bytes(sent)} of ${bytes(size)}<//>
    <button class="button" type="button" onClick=${() => input.current.click()}>Choose the same file again to go on</button>
    <input type="file" hidden ref=${input} onChange=${({ target }) => setProblem(chooseAgain(id, target.files[0]))} />
    <${Problem} text=${problem} />
  </div>`;
}

/** Whether files are being dragged over the page; those that are dropped are uploaded. */
function useDrop() {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const takes = (event) =>
      event.dataTransfer?.types.includes('Files') && allows('POST', 'asset/request-upload');
    const over = (event) => {
      if (!takes(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event) => event.relatedTarget === null && setOver(false);
    const drop = (event) => {
      if (!takes(event)) return;
      event.preventDefault();
      setOver(false);
      addFiles(event.dataTransfer.files);
    };
    const listeners = { dragover: over, dragleave: leave, drop };
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener);
    };
  }, []);
  return isOver;
}
