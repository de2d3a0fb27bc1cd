import { html } from '../lib/html.js';
import { Empty, Head } from '../lib/parts.js';

export function Page() {
  return html`<${Head} title="Home" />
    <${Empty} title="Broadcast for the first time">
      <p>Create a stream, and point an encoder at it.</p>
      <a class="button primary" href="/dashboard/go-live">Go live</a>
    <//>`;
}
