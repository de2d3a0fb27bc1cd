import { call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { Json } from '../lib/json.js';
import { useLoad } from '../lib/load.js';
import { AsCurl, Bones, Head, Id, Problem, Time } from '../lib/parts.js';
import { TaskActions, TaskState } from './tasks.js';

export function Page({ id }) {
  const {
    data: task,
    error,
    reload,
  } = useLoad(() => call('GET', `/api/task/${id}`), {
    deps: [id],
    on: ({ event }) => event.startsWith('task.'),
    every: 1000,
  });
  if (!task) return html`<${Head} title="Task" /><${error ? Problem : Bones} text=${error} />`;
  const { status, params, output } = task;
  return html`<${Head} title=${`${titles[task.type] ?? task.type}: ${task.name}`} state=${html`<${TaskState} task=${task} />`}>
      <${TaskActions} task=${task} onDone=${reload} className="button" />
    <//>
    <${Problem} text=${error} />
    ${status.errorMessage && html`<p class=${status.phase === 'failed' ? 'notice bad' : 'notice'}>${status.errorMessage}</p>`}
    <div class="columns narrow">
      <section class="card stack" aria-label="Facts">
        <h2>Facts</h2>
        <dl class="facts">
          <dt>Id</dt>
          <dd><${Id} id=${id} /></dd>
          ${task.inputAssetId && html`<dt>Works on</dt><dd><a href=${`/dashboard/asset/${task.inputAssetId}`}>the asset</a></dd>`}
          ${task.outputAssetId && html`<dt>Makes</dt><dd><a href=${`/dashboard/asset/${task.outputAssetId}`}>the asset</a></dd>`}
          <dt>Created</dt>
          <dd><${Time} at=${task.createdAt} />${task.createdByTokenName && ` with the key ${task.createdByTokenName}`}</dd>
          <dt>Changed</dt>
          <dd><${Time} at=${status.updatedAt} /></dd>
          ${status.retries !== undefined && html`<dt>Retries</dt><dd>${status.retries}</dd>`}
        </dl>
      </section>
      <div class="stack">
        ${output && html`<section class="stack"><h2>Result</h2><${Json} value=${output} label="the result" /></section>`}
        ${params && html`<section class="stack"><h2>What was requested</h2><${Json} value=${params} label="what was requested" /></section>`}
        <${AsCurl} path=${`/api/task/${id}`} />
      </div>
    </div>`;
}

const titles = {
  upload: 'Upload',
  import: 'Import',
  export: 'Export',
  recording: 'Recording',
  transcode: 'Transcode',
};
