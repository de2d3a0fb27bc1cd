import { useState } from 'preact/hooks';
import { call } from '../lib/api.js';
import { fullMoment } from '../lib/format.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { useWrite } from '../lib/load.js';
import { AsCurl, Confirm, Dot, Empty, Problem, Time } from '../lib/parts.js';

/** Reactions of plugins that failed for long. */
export function Reactions() {
  const [leaving, setLeaving] = useState();
  const [turn, setTurn] = useState(0);
  const again = () => {
    setLeaving(undefined);
    setTurn((before) => before + 1);
  };
  const columns = [
    { title: 'Plugin', cell: ({ plugin }) => plugin },
    { title: 'Event', cell: ({ event }) => event.type },
    {
      title: 'State',
      cell: ({ status }) =>
        status === 'parked' ? html`<${Dot} kind="bad">Parked<//>` : html`<${Dot} kind="warn">Tried again<//>`,
    },
    { title: 'Tries', isEnd: true, cell: ({ tries }) => tries },
    {
      title: 'Failed',
      cell: ({ failedAt }) => html`<span title=${fullMoment(failedAt)}><${Time} at=${failedAt} /></span>`,
    },
    { title: 'Error', cell: ({ error }) => html`<code title=${error}>${error}</code>` },
    {
      title: '',
      isEnd: true,
      cell: (reaction) => html`<${Actions} reaction=${reaction} onDone=${again} onLeave=${setLeaving} />`,
    },
  ];
  return html`<${List}
      path="/api/system/reactions"
      every=${5000}
      turn=${turn}
      columns=${columns}
      empty=${html`<${Empty} title="No reaction fails"><p>When a plugin cannot react to an event for more than a minute, it is listed here. After a day it is parked until you resume it or give it up.</p><//>`}
    />
    <${AsCurl} path="/api/system/reactions" />
    ${leaving && html`<${GiveUp} reaction=${leaving} onDone=${again} onClose=${() => setLeaving(undefined)} />`}`;
}

function Actions({ reaction, onDone, onLeave }) {
  const { run, isBusy, problem } = useWrite();
  if (reaction.status !== 'parked') return null;
  const resume = async () => {
    if (await run(() => call('POST', `/api/system/reactions/${reaction.id}/resume`))) onDone();
  };
  return html`<${Problem} text=${problem} />
    <button class="copy" type="button" disabled=${isBusy} onClick=${resume}>Resume</button>
    <button class="copy" type="button" onClick=${() => onLeave(reaction)}>Give up</button>`;
}

function GiveUp({ reaction: { id, plugin, event }, onDone, onClose }) {
  const { run, problem } = useWrite();
  const remove = async () => {
    if (await run(() => call('DELETE', `/api/system/reactions/${id}`))) onDone();
  };
  return html`<${Confirm} title="Give the reaction up?" action="Give up" problem=${problem} onDo=${remove} onClose=${onClose}>
    <p>${plugin} will never react to this ${event.type}. This cannot be undone.</p>
  <//>`;
}
