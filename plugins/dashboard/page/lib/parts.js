import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { fullMoment, moment, shortIds } from './format.js';
import { html } from './html.js';

const signs = { 'on-air': '●', good: '✓', warn: '▲', bad: '✕', quiet: '○', wait: '◐' };

/** A state: sign and word, never colour alone. `kind`: on-air, good, warn, bad, quiet or wait. */
export function Dot({ kind, children }) {
  return html`<span class="dot ${kind === 'wait' ? 'warn' : kind}" data-sign=${signs[kind]}>${children}</span>`;
}

/** Read out when another page opens. */
export const pageTitle = signal('');

export function Head({ title, state, children }) {
  useEffect(() => {
    pageTitle.value = title;
    document.title = `${title} · Millrace`;
  }, [title]);
  return html`<header class="head">
    <h1>${title}</h1>
    ${state && html`<div class="state">${state}</div>`}
    <div class="actions">${children}</div>
  </header>`;
}

/** A moment in words; the whole of it on hover. */
export function Time({ at }) {
  if (!at) return '–';
  return html`<time datetime=${new Date(at).toISOString()} title=${fullMoment(at)}>${moment(at)}</time>`;
}

/** Text with a button that copies it. `isSecret`: shown as dots until asked for. */
export function Copied({ text, label, isSecret = false }) {
  const [isShown, setShown] = useState(!isSecret);
  return html`<span class="copied">
    <code title=${isShown ? text : undefined}>${isShown ? text : `••••••${text.slice(-4)}`}</code>
    ${
      isSecret &&
      html`<button class="copy" type="button" onClick=${() => setShown(!isShown)}>${isShown ? 'Hide' : 'Show'}</button>`
    }
    <${CopyButton} text=${text} label=${label} />
  </span>`;
}

/** `text`: what is copied, or what makes it when it is wanted. */
export function CopyButton({ text, label, title, className = 'copy', children = 'Copy' }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(typeof text === 'function' ? text() : text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button class=${className} type="button" title=${title} aria-label=${`Copy ${label ?? text}`} onClick=${copy}>
    ${isDone ? 'Copied' : children}
  </button>`;
}

/** Whether the text was copied. The clipboard of the browser is there only on secure pages, and may be forbidden. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text) {
  const focused = document.activeElement;
  const area = Object.assign(document.createElement('textarea'), { value: text });
  // While a dialog is open, nothing outside of it can be selected.
  (focused?.closest('dialog') ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return isCopied;
}

/** The first 8 characters of a UUID, and of another id what there is room for; the whole on hover, and a click copies it. */
export function Id({ id }) {
  return html`<${CopyButton} text=${id} label=${shortIds(id)} className="copy mono id" title=${id}>${shortIds(id)}<//>`;
}

/** Nothing is there yet: what to do first. */
export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

export function Problem({ text }) {
  return text ? html`<p class="problem" role="alert">${text}</p>` : null;
}

/** In the place of what is loading, when that takes more than 300 ms. */
export function Bones({ rows = 4 }) {
  const [isDue, setDue] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setDue(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="stack tight" aria-busy="true">
    ${Array.from({ length: rows }, () => html`<div class="bone" style=${isDue ? undefined : { visibility: 'hidden' }}></div>`)}
  </div>`;
}

/** `problem`: what the server says is wrong with what is in it. */
export function Field({ label, hint, problem, children }) {
  return html`<label class="field">
    <span class="label">${label}</span>${children}
    ${problem && html`<span class="problem" role="alert">${problem}</span>`}${hint && html`<span class="hint">${hint}</span>`}
  </label>`;
}

/** A dialog over the page. Closed by Escape and by `onClose`. */
export function Dialog({ title, className, onClose, children }) {
  const ref = useRef();
  useEffect(() => {
    ref.current.showModal();
  }, []);
  return html`<dialog ref=${ref} class=${className} aria-label=${title} onClose=${onClose}>
    <div class="stack"><h2>${title}</h2>${children}</div>
  </dialog>`;
}

/** Asks before what cannot be undone. `must`: a text that has to be typed first. */
export function Confirm({ title, action, must, onDo, onClose, problem, children }) {
  const [typed, setTyped] = useState('');
  const submit = (event) => {
    event.preventDefault();
    onDo();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      ${children}
      ${
        must &&
        html`<${Field} label=${`Type ${must} to go on`}>
        <input value=${typed} autocomplete="off" onInput=${({ target }) => setTyped(target.value)} />
      <//>`
      }
      <${Problem} text=${problem} />
      <div class="row">
        <button class="button bad" disabled=${must !== undefined && typed !== must}>${action}</button>
        <button class="button" type="button" onClick=${onClose}>Cancel</button>
      </div>
    </form>
  <//>`;
}

const undoable = signal(undefined);
/** ms for which a deletion can be taken back. */
const undoTime = 8000;

/**
 * Says what was done and offers to take it back; `commit({isLeaving})` is called when the time for that is over, or the page is left:
 * then only what it sends at once, by `lastCall`, arrives.
 */
export function withUndo(text, { commit, undo }) {
  undoable.value?.finish();
  const end = () => {
    clearTimeout(timer);
    removeEventListener('pagehide', leave);
    undoable.value = undefined;
  };
  const finish = ({ isLeaving = false } = {}) => {
    end();
    return commit({ isLeaving });
  };
  const leave = () => finish({ isLeaving: true });
  const timer = setTimeout(() => finish(), undoTime);
  addEventListener('pagehide', leave);
  undoable.value = {
    text,
    finish,
    undo: () => {
      end();
      undo?.();
    },
  };
}

/** Does now what could still be undone, with what it sends at once: for a reader who leaves. */
export async function finishUndo() {
  // Whoever leaves sees no page that could tell why it failed.
  await Promise.resolve(undoable.value?.finish({ isLeaving: true })).catch(() => undefined);
}

export function UndoBar() {
  const now = undoable.value;
  if (!now) return null;
  return html`<div class="undo" role="status">
    ${now.text} <button class="button plain" type="button" onClick=${now.undo}>Undo</button>
  </div>`;
}

/** The call of the API that a page makes, to be copied. `title`: in place of *As curl*. */
export function AsCurl({ method = 'GET', path, body, title = 'As curl' }) {
  const text = [
    `curl -X ${method} ${location.origin}${path}`,
    `-H "Authorization: Bearer $MILLRACE_KEY"`,
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ].join(' \\\n  ');
  return html`<details>
    <summary>${title} <code title=${path}>${method} ${shortIds(path)}</code></summary>
    <div class="json"><${CopyButton} text=${text} label="the command" /><pre class="code" tabindex="0" aria-label="Command">${text}</pre></div>
  </details>`;
}

/** Pages of one thing. `tabs`: `[id, title]`. */
export function Tabs({ tabs, current, hrefOf }) {
  return html`<nav class="tabs" aria-label="Parts of this page">
    ${tabs.map(
      ([id, title]) =>
        html`<a href=${hrefOf(id)} aria-current=${id === current ? 'page' : undefined}>${title}</a>`,
    )}
  </nav>`;
}
