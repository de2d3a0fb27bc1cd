import { allows, call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { useWrite } from '../lib/load.js';
import { AsCurl, Dot, Empty, Head, Problem, Time } from '../lib/parts.js';

export function Page() {
  return html`<${Head} title="Tasks" />
    <${List}
      path="/api/task"
      on=${({ event }) => event.startsWith('task.')}
      every=${3000}
      hrefOf=${({ id }) => `/dashboard/task/${id}`}
      filters=${filters}
      columns=${columns}
      empty=${html`<${Empty} title="No tasks yet">
        <p>Uploads, imports, exports, transcodes and recordings run as tasks. Their progress is shown here.</p>
        <a class="button primary" href="/dashboard/assets">Upload a film</a>
      <//>`}
    />
    <${AsCurl} path="/api/task" />`;
}

const options = (names) => names.map((name) => [name, name]);
const filters = [
  { id: 'name', title: 'Name' },
  {
    id: 'type',
    title: 'Type',
    options: options(['upload', 'import', 'export', 'recording', 'transcode']),
  },
  {
    id: 'phase',
    title: 'State',
    options: options(['pending', 'waiting', 'running', 'completed', 'failed', 'cancelled']),
  },
];

const columns = [
  { title: 'Name', order: 'name', cell: ({ name }) => name },
  { title: 'Type', cell: ({ type }) => type },
  { title: 'State', cell: (task) => html`<${TaskState} task=${task} />` },
  { title: 'Changed', cell: ({ status }) => html`<${Time} at=${status.updatedAt} />` },
  { title: 'Created', order: 'createdAt', cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
  { title: '', isEnd: true, cell: (task) => html`<${TaskActions} task=${task} />` },
];

const words = {
  pending: ['quiet', 'Pending'],
  waiting: ['wait', 'Waiting'],
  running: ['wait', 'Running'],
  completed: ['good', 'Completed'],
  failed: ['bad', 'Failed'],
  cancelled: ['quiet', 'Cancelled'],
};

/** State and progress of a task. */
export function TaskState({ task: { status, name } }) {
  const { phase, progress, errorMessage } = status;
  const [kind, word] = words[phase] ?? ['quiet', phase];
  const percent = Math.floor((progress ?? 0) * 100);
  return html`<span class="task-state" title=${errorMessage}>
    <${Dot} kind=${kind}>${phase === 'running' ? `${word}, ${percent} %` : word}<//>
    ${phase === 'running' && html`<progress max="1" value=${progress} aria-label=${`Progress of ${name}`}></progress>`}
  </span>`;
}

/** `onDone`: after the server took it. */
export function TaskActions({ task: { id, name, status }, onDone }) {
  const { run, isBusy, problem } = useWrite();
  const act = async (what) => {
    if (await run(() => call('POST', `/api/task/${id}/${what}`))) onDone?.();
  };
  const button = (what, title) =>
    allows('POST', `task/${id}/${what}`) &&
    html`<button class="copy" type="button" disabled=${isBusy} aria-label=${`${title} ${name}`} onClick=${() => act(what)}>${title}</button>`;
  if (problem) return html`<${Problem} text=${problem} />`;
  if (['failed', 'cancelled'].includes(status.phase)) return button('retry', 'Retry');
  return ['pending', 'waiting', 'running'].includes(status.phase) ? button('cancel', 'Cancel') : null;
}
