import { useRef, useState } from 'preact/hooks';
import { allows, call, key as ownKey } from '../lib/api.js';
import { recent } from '../lib/events.js';
import { html } from '../lib/html.js';
import { lastCall } from '../lib/last-call.js';
import { useLoad, useWrite } from '../lib/load.js';
import { AsCurl, Dot, Empty, Field, Problem, Time, withUndo } from '../lib/parts.js';

/** Where the big platforms take broadcasts, and where they show the key. */
const presets = [
  ['YouTube', 'rtmps://a.rtmps.youtube.com/live2', 'YouTube Studio → Go live → Stream key'],
  [
    'Twitch',
    'rtmps://ingest.global-contribute.live-video.net/app',
    'Creator Dashboard → Settings → Stream → Primary Stream key',
  ],
  ['Facebook', 'rtmps://live-api-s.facebook.com:443/rtmp', 'Live Producer → Streaming software → Stream key'],
  ['Kick', '', 'Creator dashboard → Settings → Stream URL and Key'],
  ['Custom', '', 'An rtmp://, rtmps:// or srt:// URL'],
];

/** Where the broadcasts of a stream are pushed to. */
export function Targets({ stream, reload }) {
  const [hidden, setHidden] = useState(new Set());
  const {
    data,
    error,
    reload: reloadTargets,
  } = useLoad(() => call('GET', '/api/multistream/target', { query: { limit: 100 } }), {
    on: ({ event }) => event.startsWith('multistream.'),
  });
  const entries = stream.multistream?.targets ?? [];
  const newest = useRef();
  newest.current = entries;
  const shown = entries.filter((entry) => !hidden.has(keyOf(entry)));
  const change = async (targets) => {
    await call('PATCH', `/api/stream/${stream.id}`, { body: { multistream: { targets } } });
    await Promise.all([reload(), reloadTargets()]);
  };
  const remove = (entry) => {
    const key = keyOf(entry);
    const without = (set) => new Set([...set].filter((one) => one !== key));
    setHidden((set) => new Set([...set, key]));
    withUndo('Target removed from this stream.', {
      undo: () => setHidden(without),
      commit: async ({ isLeaving }) => {
        if (isLeaving) {
          const targets = newest.current.filter((one) => keyOf(one) !== key);
          const body = { multistream: { targets } };
          return lastCall('PATCH', `/api/stream/${stream.id}`, { key: ownKey.value, body });
        }
        const { multistream } = await call('GET', `/api/stream/${stream.id}`);
        await change(multistream.targets.filter((one) => keyOf(one) !== key));
        setHidden(without);
      },
    });
  };
  if (!stream.multistream)
    return html`<${Empty} title="Multistream is off on this server"><p>The plugin <code>multistream</code> sends broadcasts on to other platforms.</p><//>`;
  return html`<div class="stack">
    <${Problem} text=${error} />
    ${
      shown.length > 0
        ? html`<div class="scroll"><table class="list">
          <thead><tr><th>Target</th><th>Profile</th><th>State</th><th class="end"><span class="hidden">What to do</span></th></tr></thead>
          <tbody>
            ${shown.map(
              (entry) => html`<${Target}
                key=${keyOf(entry)}
                entry=${entry}
                target=${data?.find(({ id }) => id === entry.id)}
                stream=${stream}
                onRemove=${() => remove(entry)}
                onChange=${reloadTargets}
              />`,
            )}
          </tbody>
        </table></div>`
        : html`<${Empty} title="Sent to no other platform">
          <p>Choose a platform below, and paste the stream key that it shows. Each broadcast of this stream is sent on to it.</p>
        <//>`
    }
    ${
      allows('PATCH', 'stream') &&
      html`<${Add} stream=${stream} known=${(data ?? []).filter(({ id }) => !entries.some((one) => one.id === id))} onAdd=${(entry) => change([...entries, entry])} />`
    }
    <${AsCurl} method="PATCH" path=${`/api/stream/${stream.id}`} body=${{ multistream: { targets: [{ profile: 'source', spec: { url: 'rtmps://live.example.com/app/key' } }] } }} />
  </div>`;
}

const keyOf = ({ id, profile }) => `${id}/${profile}`;

function Target({ entry, target, stream, onRemove, onChange }) {
  const { run, isBusy, problem } = useWrite();
  const disabled = target?.disabled === true;
  const toggle = () =>
    run(async () => {
      await call('PATCH', `/api/multistream/target/${entry.id}`, { body: { disabled: !disabled } });
      await onChange();
    });
  return html`<tr>
    <td>${target?.name ?? entry.id.slice(0, 8)}</td>
    <td>${entry.profile}${entry.videoOnly ? ', no sound' : ''}</td>
    <td class="wrap"><${TargetState} entry=${entry} disabled=${disabled} stream=${stream} /><${Problem} text=${problem} /></td>
    <td class="end">
      ${target && html`<button class="button" type="button" disabled=${isBusy} onClick=${toggle}>${disabled ? 'Enable' : 'Disable'}</button>`}
      ${' '}<button class="button" type="button" onClick=${onRemove}>Remove</button>
    </td>
  </tr>`;
}

function TargetState({ entry, disabled, stream }) {
  const issue = stream.issues.find((text) => text.includes(entry.id));
  const last = recent.value.find(
    ({ event, payload, stream: of }) =>
      event.startsWith('multistream.') &&
      of?.id === stream.id &&
      payload?.target?.id === entry.id &&
      payload.target.profile === entry.profile,
  );
  if (disabled) return html`<${Dot} kind="quiet">Disabled<//>`;
  if (issue)
    return html`<div><${Dot} kind="bad">Failing<//> <span>${issue.replace(/^Multistream target .*?\([\w-]+\): /, '')}</span></div>`;
  if (!stream.isActive) {
    const error = last?.event === 'multistream.error' ? last.payload.error : undefined;
    return html`<div><${Dot} kind="quiet">Waits for the next broadcast<//> ${error && html`<span class="muted">Last error: ${error}</span>`}</div>`;
  }
  if (last?.event === 'multistream.connected')
    return html`<div><${Dot} kind="good">Connected<//> <span class="muted"><${Time} at=${last.createdAt} /></span></div>`;
  if (last) return html`<${Dot} kind="wait">Connecting<//>`;
  return html`<${Dot} kind="good">No problem known<//>`;
}

function Add({ stream, known, onAdd }) {
  const [preset, setPreset] = useState();
  const { run, isBusy, problem } = useWrite();
  const add = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const server = form.get('server').trim().replace(/\/+$/, '');
    const key = form.get('key').trim();
    const spec = { name: form.get('name').trim(), url: key ? `${server}/${key}` : server };
    const isDone = await run(() => onAdd({ profile: form.get('profile'), spec }));
    if (isDone) setPreset(undefined);
  };
  const [name, server, where] = preset ?? [];
  return html`<section class="card stack" aria-label="Add a target">
    <h3>Send it on to</h3>
    <div class="row">
      ${presets.map(
        (one) =>
          html`<button class="button" type="button" aria-pressed=${preset?.[0] === one[0]} onClick=${() => setPreset(one)}>${one[0]}</button>`,
      )}
      ${
        known.length > 0 &&
        html`<select aria-label="A target that exists" value="" onChange=${({ target }) => target.value && run(() => onAdd({ profile: 'source', id: target.value }))}>
          <option value="">A target that exists …</option>
          ${known.map(({ id, name: of }) => html`<option value=${id}>${of}</option>`)}
        </select>`
      }
    </div>
    ${
      preset &&
      html`<form class="stack" key=${name} onSubmit=${add}>
        <div class="form-grid">
          <${Field} label="Name"><input name="name" required value=${name === 'Custom' ? '' : name} /><//>
          <${Field} label="Server" hint=${name === 'Custom' ? where : ''}><input name="server" required value=${server} placeholder="rtmps://live.example.com/app" spellcheck="false" /><//>
          <${Field} label="Stream key" hint=${name === 'Custom' ? 'if it is not part of the URL' : where}><input name="key" type="password" autocomplete="off" required=${name !== 'Custom'} /><//>
          <${Field} label="Profile">
            <select name="profile">
              ${['source', ...(stream.profiles ?? []).map((one) => one.name)].map((one) => html`<option>${one}</option>`)}
            </select>
          <//>
        </div>
        <${Problem} text=${problem} />
        <div class="row"><button class="button primary" disabled=${isBusy}>Add the target</button></div>
      </form>`
    }
    ${!preset && html`<${Problem} text=${problem} />`}
  </section>`;
}
