import { useState } from 'preact/hooks';
import { allows, call } from '../lib/api.js';
import { hasField } from '../lib/extensions.js';
import { html } from '../lib/html.js';
import { useLoad, useWrite } from '../lib/load.js';
import { AsCurl, Confirm, Dialog, Dot, Field, Problem, Time } from '../lib/parts.js';
import { useEventLog } from '../lib/past-events.js';
import { forgetTokens } from '../lib/playback-token.js';
import { policySentence } from '../lib/policy.js';
import { PolicyForm } from './policy-form.js';

/** Whether the server protects what a stream or an asset plays, and the page may say so. */
export const hasAccess = (kind) => hasField(kind, 'playbackPolicy');

/** Who may watch a stream or an asset (`kind`), who was refused, and what can be done about it. */
export function Access({ kind, thing, onChange }) {
  const [open, setOpen] = useState();
  const { id, playbackId, playbackPolicy: policy, status } = thing;
  const path = `/api/${kind}/${id}`;
  // The file of an asset may be on its way.
  const isThere = kind === 'stream' || status === 'ready';
  const close = () => setOpen(undefined);
  const done = () => {
    close();
    onChange();
  };
  const actions = [
    ['change', 'Change', allows('PATCH', `${kind}/${id}`)],
    ['check', 'Check a token', isThere && allows('POST', `playback/${playbackId}/check`)],
    [
      'end',
      'End playback',
      isThere && policy?.type !== 'public' && allows('POST', `playback/${playbackId}/revoke`),
    ],
  ].filter(([, , isAllowed]) => isAllowed);
  return html`<section class="card stack" aria-label="Who may watch">
    <h2>Who may watch</h2>
    <div>
      <p>${policySentence(policy)}</p>
      ${!policy && isThere && html`<${Inherited} playbackId=${playbackId} />`}
    </div>
    ${
      actions.length > 0 &&
      html`<div class="row">
        ${actions.map(
          ([name, title]) =>
            html`<button class=${`button ${name === 'end' ? 'bad' : ''}`} type="button" onClick=${() => setOpen(name)}>${title}</button>`,
        )}
      </div>`
    }
    ${allows('GET', 'events/log') && html`<${Refusals} kind=${kind} thing=${thing} />`}
    ${open === 'change' && html`<${PolicyForm} path=${path} policy=${policy} onClose=${close} onDone=${done} />`}
    ${open === 'check' && html`<${Check} playbackId=${playbackId} onClose=${close} />`}
    ${open === 'end' && html`<${End} playbackId=${playbackId} onClose=${close} />`}
  </section>`;
}

/** What the policy of the account or the deployment says of a viewer without a token. */
function Inherited({ playbackId }) {
  const path = `playback/${playbackId}/check`;
  const { data } = useLoad(
    () => allows('POST', path) && call('POST', `/api/${path}`, { body: { origin: location.origin } }),
    { deps: [playbackId] },
  );
  const text = data?.allowed
    ? 'Today it lets a viewer without a token in.'
    : data?.reason && `Today it refuses a viewer without a token: ${data.reason}`;
  // Its line is there before its words.
  return html`<p class="muted">${text ?? '\u00a0'}</p>`;
}

/** Refusals that are shown. */
const most = 10;

function Refusals({ kind, thing: { id, playbackId } }) {
  const { events, isLoading } = useEventLog({
    type: 'playback.refused',
    ...(kind === 'stream' && { streamId: id }),
  });
  const isOf = ({ payload }) => payload.assetId === id || payload.playbackId === playbackId;
  const refusals = events.filter((event) => kind === 'stream' || isOf(event)).slice(0, most);
  if (refusals.length === 0 && isLoading) return html`<p class="muted">${'\u00a0'}</p>`;
  if (refusals.length === 0) return html`<p class="muted">Nobody was refused in the last 24 hours.</p>`;
  return html`<div class="stack tight">
    <h3>Refused in the last 24 hours</h3>
    <ul class="lines">
      ${refusals.map(
        ({ id: event, createdAt, payload: { rule, reason } }) => html`<li key=${event}>
          <${Dot} kind="warn"><code>${rule}</code><//><span>${reason}</span>
          <span class="muted push"><${Time} at=${createdAt} /></span>
        </li>`,
      )}
    </ul>
    <p class="hint">One line a minute for each reason, however many viewers it refused.</p>
  </div>`;
}

/** Says what a viewer would get. */
function Check({ playbackId, onClose }) {
  const [draft, setDraft] = useState({ token: '', origin: '', ip: '' });
  const [answer, setAnswer] = useState();
  const { run, isBusy, problem } = useWrite();
  const path = `/api/playback/${playbackId}/check`;
  const given = Object.entries(draft).filter(([, value]) => value.trim() !== '');
  const body = Object.fromEntries(given.map(([name, value]) => [name, value.trim()]));
  const set =
    (name) =>
    ({ target }) => {
      setAnswer(undefined);
      setDraft({ ...draft, [name]: target.value });
    };
  const check = async (event) => {
    event.preventDefault();
    setAnswer(undefined);
    setAnswer(await run(() => call('POST', path, { body })));
  };
  return html`<${Dialog} title="Check a token" onClose=${onClose}>
    <form class="stack" onSubmit=${check}>
      <${Field} label="Token" hint="As behind ?token= of the player. Empty: a viewer without one">
        <textarea rows="4" class="mono" spellcheck="false" value=${draft.token} onInput=${set('token')}></textarea>
      <//>
      <${Field} label="Origin" hint="Of the page that plays, such as https://www.example.com"><input value=${draft.origin} onInput=${set('origin')} /><//>
      <${Field} label="IP address" hint="Of the viewer"><input value=${draft.ip} onInput=${set('ip')} /><//>
      <${Problem} text=${problem} />
      <div role="status">${answer && html`<${Verdict} answer=${answer} />`}</div>
      <div class="row">
        <button class="button primary" disabled=${isBusy}>Check</button>
        <button class="button" type="button" onClick=${onClose}>Close</button>
      </div>
      <${AsCurl} method="POST" path=${path} body=${body} />
    </form>
  <//>`;
}

function Verdict({ answer: { allowed, rule, reason } }) {
  if (allowed) return html`<p><${Dot} kind="good">Allowed<//> This viewer may watch.</p>`;
  return html`<p><${Dot} kind="bad">Refused<//> ${reason} <code>${rule}</code></p>`;
}

/** Ends playback of everybody, or of one viewer. */
function End({ playbackId, onClose }) {
  const [isOne, setOne] = useState(false);
  const [viewer, setViewer] = useState('');
  const { run, problem } = useWrite();
  const end = async () => {
    const body = isOne ? { viewer } : {};
    if (!(await run(() => call('POST', `/api/playback/${playbackId}/revoke`, { body })))) return;
    forgetTokens();
    onClose();
  };
  return html`<${Confirm} title="End playback?" action="End playback" problem=${problem} onDo=${end} onClose=${onClose}>
    <div class="choices">
      <label class="choice"><input type="radio" name="whose" checked=${!isOne} onChange=${() => setOne(false)} /> Everybody</label>
      <label class="choice"><input type="radio" name="whose" checked=${isOne} onChange=${() => setOne(true)} /> One viewer</label>
    </div>
    ${
      isOne &&
      html`<${Field} label="Viewer" hint="The viewer of the token">
        <input required maxlength="128" value=${viewer} onInput=${({ target }) => setViewer(target.value)} />
      <//>`
    }
    <p>${isOne ? 'This viewer' : 'Everybody who was let in so far'} loses the picture within 5 seconds. Tokens that were made before now open nothing more; new ones do. This cannot be undone.</p>
  <//>`;
}
