import { useState } from 'preact/hooks';
import { allows, call, callWhole } from '../lib/api.js';
import { count } from '../lib/format.js';
import { html } from '../lib/html.js';
import { useLoad, useWrite } from '../lib/load.js';
import { AsCurl, Confirm, Copied, Field, Problem } from '../lib/parts.js';
import { go } from '../lib/place.js';

/** Renditions that are added with one click; bit/s. */
const ladder = [
  { name: '1080p', width: 1920, height: 1080, bitrate: 5_000_000, fps: 0 },
  { name: '720p', width: 1280, height: 720, bitrate: 2_500_000, fps: 0 },
  { name: '480p', width: 854, height: 480, bitrate: 1_200_000, fps: 0 },
  { name: '360p', width: 640, height: 360, bitrate: 700_000, fps: 0 },
];

export function Settings({ stream, reload }) {
  if (!allows('PATCH', 'stream')) return html`<p class="muted">Your key may not change streams.</p>`;
  return html`<div class="stack">
    <${Fields} key=${stream.id} stream=${stream} onChange=${reload} />
    <${Key} stream=${stream} onChange=${reload} />
    <${Danger} stream=${stream} onChange=${reload} />
  </div>`;
}

/** The form holds what was there when it opened: figures that come each second do not change what somebody types. */
function Fields({ stream, onChange }) {
  const [draft, setDraft] = useState(() => draftOf(stream));
  const [isSaved, setSaved] = useState(false);
  const { run, isBusy, problem } = useWrite();
  const set = (changes) => {
    setSaved(false);
    setDraft({ ...draft, ...changes });
  };
  const save = async (event) => {
    event.preventDefault();
    const isDone = await run(async () => {
      await call('PATCH', `/api/stream/${stream.id}`, { body: bodyOf(draft, stream) });
      await onChange();
    });
    if (isDone) setSaved(true);
  };
  return html`<form class="card stack" onSubmit=${save} onInput=${() => setSaved(false)}>
    <h2>Settings</h2>
    <div class="form-grid">
      <${Field} label="Name"><input required maxlength="500" value=${draft.name} onInput=${({ target }) => set({ name: target.value })} /><//>
      <${Field} label="Hold" hint="Seconds that the stream stays on the air after its connection broke">
        <input type="number" min="0" max="3600" placeholder="As the server" value=${draft.hold} onInput=${({ target }) => set({ hold: target.value })} />
      <//>
    </div>
    ${
      stream.record !== undefined &&
      html`<label class="row check"><input type="checkbox" checked=${draft.record} onChange=${({ target }) => set({ record: target.checked })} /> Record each broadcast, from the next one on</label>`
    }
    ${stream.profiles && html`<${Profiles} profiles=${draft.profiles} onChange=${(profiles) => set({ profiles })} />`}
    <${Field} label="Tags" hint="One a line: name = value">
      <textarea rows="3" class="mono" value=${draft.tags} onInput=${({ target }) => set({ tags: target.value })}></textarea>
    <//>
    <${Problem} text=${problem} />
    <div class="row">
      <button class="button primary" disabled=${isBusy}>Save</button>
      <span role="status" class="muted">${isSaved ? 'Saved.' : ''}</span>
    </div>
    <${AsCurl} method="PATCH" path=${`/api/stream/${stream.id}`} body=${bodyOf(draft, stream)} />
  </form>`;
}

function draftOf({ name, record, holdSeconds, profiles, userTags }) {
  const tags = Object.entries(userTags).map(([tag, value]) => `${tag} = ${value}`);
  return { name, record, hold: holdSeconds ?? '', profiles: profiles ?? [], tags: tags.join('\n') };
}

function bodyOf({ name, record, hold, profiles, tags }, stream) {
  return {
    name,
    ...(hold !== '' && { holdSeconds: Number(hold) }),
    ...(stream.record !== undefined && { record }),
    ...(stream.profiles && { profiles }),
    userTags: tagsOf(tags),
  };
}

/** Numbers, `true` and `false` are values of their own kind. */
function tagsOf(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const [tag, ...rest] = line.split('=');
      const value = rest.join('=').trim();
      if (value === 'true' || value === 'false') return [tag.trim(), value === 'true'];
      return [tag.trim(), value !== '' && Number.isFinite(Number(value)) ? Number(value) : value];
    }),
  );
}

function Profiles({ profiles, onChange }) {
  const left = ladder.filter(({ name }) => !profiles.some((one) => one.name === name));
  const set = (index, changes) =>
    onChange(profiles.map((profile, at) => (at === index ? { ...profile, ...changes } : profile)));
  const number = (index, field, title, by = 1) => html`<input
    type="number"
    min="1"
    required
    aria-label=${`${title} of ${profiles[index].name}`}
    value=${profiles[index][field] / by}
    onInput=${({ target }) => set(index, { [field]: Math.round(Number(target.value) * by) })}
  />`;
  return html`<fieldset class="plain stack tight">
    <legend class="label">Renditions</legend>
    ${profiles.map(
      (profile, index) => html`<div class="row rendition">
        <input aria-label="Name of the rendition" required value=${profile.name} onInput=${({ target }) => set(index, { name: target.value })} />
        ${number(index, 'width', 'Width')}<span>×</span>${number(index, 'height', 'Height')}
        ${number(index, 'bitrate', 'Bitrate in kb/s', 1000)}<span class="muted">kb/s</span>
        <button class="button" type="button" onClick=${() => onChange(profiles.filter((_, at) => at !== index))}>Remove</button>
      </div>`,
    )}
    <div class="row">
      ${left.map((one) => html`<button class="button" type="button" onClick=${() => onChange([...profiles, one])}>Add ${one.name}</button>`)}
    </div>
    <span class="hint">Smaller versions for slow connections: name, width × height, bitrate. They begin with the next broadcast.</span>
  </fieldset>`;
}

function Key({ stream, onChange }) {
  const [isAsking, setAsking] = useState(false);
  const { run, problem } = useWrite();
  const rotate = async () => {
    const isDone = await run(async () => {
      await call('POST', `/api/stream/${stream.id}/rotate-key`);
      await onChange();
    });
    if (isDone) setAsking(false);
  };
  return html`<section class="card stack" aria-label="Stream key">
    <h2>Stream key</h2>
    ${
      stream.ingest &&
      html`<dl class="facts settings">
      <dt>Server</dt><dd><${Copied} text=${stream.ingest.url} label="the server" /></dd>
      <dt>Key</dt><dd><${Copied} key=${stream.ingest.key} text=${stream.ingest.key} label="the key" isSecret /></dd>
    </dl>`
    }
    <div class="row"><button class="button" type="button" onClick=${() => setAsking(true)}>Replace the key</button></div>
    ${
      isAsking &&
      html`<${Confirm} title="Replace the stream key?" action="Replace the key" problem=${problem} onDo=${rotate} onClose=${() => setAsking(false)}>
        <p>The old key stops working at once.${stream.isActive ? ' The broadcast that is on the air ends.' : ''} Encoders need the new one.</p>
      <//>`
    }
  </section>`;
}

function Danger({ stream, onChange }) {
  const [asked, setAsked] = useState();
  const { run, isBusy, problem } = useWrite();
  const path = `/api/stream/${stream.id}`;
  const close = () => setAsked(undefined);
  const after = (work) => async () => {
    const isDone = await run(async () => {
      await work();
      await onChange();
    });
    if (isDone) close();
  };
  const suspend = after(() => call('PATCH', path, { body: { suspended: true } }));
  const resume = after(() => call('PATCH', path, { body: { suspended: false } }));
  const terminate = after(() => call('DELETE', `${path}/terminate`));
  return html`<section class="card stack" aria-label="Danger zone">
    <h2>Danger zone</h2>
    ${!asked && html`<${Problem} text=${problem} />`}
    <ul class="row-choices">
      <li class="row-choice">
        <span>${stream.suspended ? 'The stream is suspended: it takes no broadcasts.' : 'Suspend it: broadcasts are refused until you resume it.'}</span>
        ${
          stream.suspended
            ? html`<button class="button" type="button" disabled=${isBusy} onClick=${resume}>Resume</button>`
            : html`<button class="button bad" type="button" onClick=${() => setAsked('suspend')}>Suspend</button>`
        }
      </li>
      <li class="row-choice">
        <span>${stream.isActive ? 'End the broadcast that is on the air. The stream stays.' : 'Nothing is on the air.'}</span>
        <button class="button bad" type="button" disabled=${!stream.isActive} onClick=${() => setAsked('terminate')}>End the broadcast</button>
      </li>
      ${
        allows('DELETE', 'stream') &&
        html`<li class="row-choice">
          <span>Delete the stream, its key and its settings. Sessions and recordings stay.</span>
          <button class="button bad" type="button" onClick=${() => setAsked('delete')}>Delete the stream</button>
        </li>`
      }
    </ul>
    ${
      asked === 'suspend' &&
      html`<${Confirm} title="Suspend the stream?" action="Suspend" problem=${problem} onDo=${suspend} onClose=${close}>
        <p>${stream.isActive ? 'The broadcast that is on the air ends. ' : ''}New broadcasts are refused until you resume the stream.</p>
      <//>`
    }
    ${
      asked === 'terminate' &&
      html`<${Confirm} title="End the broadcast?" action="End the broadcast" problem=${problem} onDo=${terminate} onClose=${close}>
        <p>The broadcast and its session end, and the recording becomes an asset. An encoder that reconnects begins a new session.</p>
      <//>`
    }
    ${asked === 'delete' && html`<${Delete} stream=${stream} onClose=${close} />`}
  </section>`;
}

function Delete({ stream, onClose }) {
  const path = `/api/stream/${stream.id}`;
  const { data } = useLoad(async () => {
    const countOf = async (query) =>
      (await callWhole('GET', `${path}/sessions`, { query: { limit: 1, count: 1, ...query } })).count;
    return Promise.all([countOf({}), countOf({ record: 1 })]);
  });
  const { run, problem } = useWrite();
  const remove = async () => {
    if (await run(() => call('DELETE', path))) go('/dashboard/streams');
  };
  const [sessions, recordings] = data ?? [];
  return html`<${Confirm}
    title=${`Delete the stream ${stream.name}?`}
    action="Delete it"
    must=${stream.isActive ? stream.name : undefined}
    problem=${problem}
    onDo=${remove}
    onClose=${onClose}
  >
    <p>
      ${stream.isActive ? 'It is on the air: the broadcast ends, and viewers lose the picture. ' : ''}The stream, its
      key and its settings are removed. This cannot be undone.
    </p>
    ${sessions > 0 && html`<p>${staying(sessions, recordings)}</p>`}
  <//>`;
}

function staying(sessions, recordings) {
  const stay = sessions === 1 ? 'Its session stays' : `Its ${count(sessions)} sessions stay`;
  if (!recordings) return `${stay}.`;
  return `${stay}, and so ${recordings === 1 ? 'does the recording' : `do the ${count(recordings)} recordings`} among the assets.`;
}
