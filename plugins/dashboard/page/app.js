import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { access, call, key, signIn } from './lib/api.js';
import { Dock } from './lib/dock.js';
import { startEvents } from './lib/events.js';
import { extensions, loadExtensions, PluginPage, pluginEntries } from './lib/extensions.js';
import { Frame } from './lib/frame.js';
import { html } from './lib/html.js';
import { Bones, Empty, Head, Problem } from './lib/parts.js';
import { place } from './lib/place.js';
import { SignIn } from './pages/sign-in.js';

/** Pages by the first word of their path; the rest of it is handed to them as `id`. */
const pages = {
  '': () => import('./pages/home.js'),
  'go-live': () => import('./pages/go-live.js'),
  session: () => import('./pages/session.js'),
  stream: () => import('./pages/stream.js'),
  streams: () => import('./pages/streams.js'),
  assets: () => import('./pages/assets.js'),
  asset: () => import('./pages/asset.js'),
  tasks: () => import('./pages/tasks.js'),
  task: () => import('./pages/task.js'),
  webhooks: () => import('./pages/webhooks.js'),
  webhook: () => import('./pages/webhook.js'),
  events: () => import('./pages/events.js'),
  keys: () => import('./pages/keys.js'),
  system: () => import('./pages/system.js'),
};

function App() {
  if (!key.value) return html`<${SignIn} />`;
  return html`<${Frame} more=${pluginEntries()}><${Page} /><${Dock} /><//>`;
}

function Page() {
  const [first, ...rest] = place.value.path.split('/');
  const [loaded, setLoaded] = useState({});
  const load = pages[first];
  useEffect(() => {
    if (!load) return;
    load().then(
      ({ Page }) => setLoaded({ of: first, Page }),
      () => setLoaded({ of: first, problem: 'This page did not load. Is the server running?' }),
    );
  }, [first]);
  const page = load ? undefined : extensions.value.pages.find(({ id }) => id === first);
  if (page) return html`<${PluginPage} page=${page} id=${rest[0] && decodeURIComponent(rest[0])} />`;
  if (!load)
    return html`<${Head} title="Not found" /><${Empty} title="There is no such page"><a href="/">Go home</a><//>`;
  if (loaded.of !== first) return html`<${Bones} />`;
  if (loaded.problem) return html`<${Problem} text=${loaded.problem} />`;
  const id = rest.length > 0 ? decodeURIComponent(rest[0]) : undefined;
  return html`<${loaded.Page} id=${id} rest=${rest.slice(1)} key=${id} />`;
}

/** A link that signs in has its code behind the `#`, which never reaches a log. */
async function takeCode() {
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    const answer = await fetch('/api/sign-in', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    });
    if (answer.ok) await signIn((await answer.json()).key, { isKept: false, isOwn: true });
  } catch {
    // The page asks for a key instead.
  }
}

async function findAccess() {
  await takeCode();
  if (!key.value || access.value) return;
  try {
    access.value = await call('GET', '/api/api-token/current');
  } catch {
    // Everything is shown then, and the server says what it refuses.
  }
}

// The first page is read meanwhile.
void pages[place.value.path.split('/')[0]]?.().catch(() => undefined);
await Promise.all([findAccess(), loadExtensions()]);
startEvents();
render(html`<${App} />`, document.querySelector('#app'));
