import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { access, call, key, signIn, signInNotice } from './lib/api.js';
import { Dock } from './lib/dock.js';
import { startEvents } from './lib/events.js';
import { extensions, loadExtensions, PluginPage, pluginEntries } from './lib/extensions.js';
import { Frame } from './lib/frame.js';
import { html } from './lib/html.js';
import { Bones, Empty, Head, Problem } from './lib/parts.js';
import { place } from './lib/place.js';
import { freshKey } from './lib/sign-in-link.js';
import { SignIn } from './pages/sign-in.js';

/** Pages by the first word of their path; the rest of it is handed to them as `id`. */
const pages = {
  // `constructor` is no page.
  __proto__: null,
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
  'signing-keys': () => import('./pages/signing-keys.js'),
  usage: () => import('./pages/usage.js'),
  audit: () => import('./pages/audit.js'),
  system: () => import('./pages/system.js'),
};

/** ms after which a page that did not load is asked for again. */
const again = 2000;

function App() {
  if (!key.value) return html`<${SignIn} />`;
  return html`<${Frame} more=${pluginEntries()}><${Page} /><${Dock} /><//>`;
}

function Page() {
  const [first, ...rest] = place.value.path.split('/');
  const [loaded, setLoaded] = useState({});
  const load = pages[first];
  useEffect(() => {
    if (!load) return undefined;
    let isOver = false;
    let timer;
    const attempt = () =>
      load().then(
        ({ Page }) => isOver || setLoaded({ of: first, Page }),
        () => {
          if (isOver) return;
          setLoaded({ of: first, problem: 'This page did not load. It is tried again by itself.' });
          timer = setTimeout(attempt, again);
        },
      );
    void attempt();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [first]);
  const page = load ? undefined : extensions.value.pages.find(({ id }) => id === first);
  const id = rest[0] && decoded(rest[0]);
  if (page) return html`<${PluginPage} page=${page} id=${id} />`;
  if (!load || (id !== undefined && !idPattern.test(id)))
    return html`<${Head} title="Not found" /><${Empty} title="There is no such page"><a href="/">Go home</a><//>`;
  if (loaded.of !== first) return html`<${Bones} />`;
  if (loaded.problem) return html`<${Problem} text=${loaded.problem} />`;
  return html`<${loaded.Page} id=${id} rest=${rest.slice(1)} key=${id} />`;
}

/** Ids of the API. One becomes a part of paths and commands, so it must not be able to hold more than a name. */
const idPattern = /^[\w-]{1,100}$/;

/** As it was meant, or as it stands there where nobody meant it. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A link that signs in has its code behind the `#`, which never reaches a log. */
async function takeCode() {
  const code = /^#sign-in=([\w-]+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    const made = await freshKey(code, { own: key.value });
    if (made) await signIn(made, { isKept: false, isOwn: true });
  } catch (error) {
    signInNotice.value = error.message;
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
