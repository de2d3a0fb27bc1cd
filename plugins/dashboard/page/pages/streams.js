import { allows } from '../lib/api.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { AsCurl, Dot, Empty, Head, Time } from '../lib/parts.js';

export function Page() {
  return html`<${Head} title="Streams">
      ${allows('POST', 'stream') && html`<a class="button primary" href="/dashboard/go-live">Create a stream</a>`}
    <//>
    <${List}
      path="/api/stream"
      query=${{ streamsonly: 1 }}
      on=${({ event }) => event.startsWith('stream.')}
      every=${30_000}
      hrefOf=${({ id }) => `/dashboard/stream/${id}`}
      remove=${remove}
      filters=${[
        { id: 'name', title: 'Name' },
        {
          id: 'isActive',
          title: 'On air',
          options: [
            ['true', 'yes'],
            ['false', 'no'],
          ],
        },
      ]}
      columns=${[
        { title: 'Name', order: 'name', cell: ({ name }) => name },
        { title: 'State', cell: (stream) => html`<${State} stream=${stream} />` },
        { title: 'Recorded', cell: ({ record }) => (record ? 'Yes' : 'No') },
        { title: 'Last seen', cell: ({ lastSeen }) => html`<${Time} at=${lastSeen} />` },
        {
          title: 'Created',
          order: 'createdAt',
          cell: ({ createdAtMs }) => html`<${Time} at=${createdAtMs} />`,
        },
      ]}
      empty=${html`<${Empty} title="No streams yet">
        <p>A stream is what an encoder broadcasts to and viewers watch. Create one, and this program shows what to type into OBS.</p>
        <a class="button primary" href="/dashboard/go-live">Go live</a>
      <//>`}
    />
    <${AsCurl} path="/api/stream?streamsonly=1" />`;
}

const remove = {
  one: 'stream',
  many: 'streams',
  path: ({ id }) => `/api/stream/${id}`,
  isFinal: true,
  isLive: ({ isActive }) => isActive,
  note: 'Sessions and recordings stay.',
};

export function State({ stream: { isActive, suspended, isHealthy } }) {
  if (isActive && isHealthy === false) return html`<${Dot} kind="warn">On air, with issues<//>`;
  if (isActive) return html`<${Dot} kind="on-air">On air<//>`;
  if (suspended) return html`<${Dot} kind="bad">Suspended<//>`;
  return html`<${Dot} kind="quiet">Off air<//>`;
}
