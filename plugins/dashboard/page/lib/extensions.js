import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { allows, call } from './api.js';
import { onEvent } from './events.js';
import { bytes, count, duration } from './format.js';
import { html } from './html.js';
import { Head, Problem, Time } from './parts.js';
import { go } from './place.js';

/** What enabled plugins declare for the dashboard. */
export const extensions = signal({ pages: [], panels: [], columns: [], fields: {} });

/** Reads it once, before the first page. Without it the dashboard has its own pages. */
export async function loadExtensions() {
  try {
    const answer = await fetch('/dashboard/extensions.json');
    if (answer.ok) extensions.value = await answer.json();
  } catch {
    // The bar above the page says that the server is away.
  }
}

/** Whether an enabled plugin adds this field to streams, assets or accounts: `hasField('stream', 'playbackPolicy')`. */
export const hasField = (resource, name) => extensions.value.fields[resource]?.includes(name) ?? false;

/** Entries of the rail. */
export function pluginEntries() {
  const shown = extensions.value.pages.filter(({ scope }) => scope === undefined || allows('GET', scope));
  return shown.map(({ id, title }) => ({ id, title, isWide: true }));
}

/** The page of a plugin: its module is loaded when it is first opened. */
export function PluginPage({ page, id }) {
  return html`<${Head} title=${page.title} /><${Mounted} ...${page} context=${{ id }} key=${page.id + id} />`;
}

/** What plugins show beside a stream or an asset: `on` is `stream` or `asset`. */
export function Panels({ on, id }) {
  return extensions.value.panels
    .filter((panel) => panel.on === on)
    .map(
      (panel) => html`<section class="card stack" key=${panel.id} aria-label=${panel.title}>
        <h2>${panel.title}</h2>
        <${Mounted} ...${panel} context=${{ id }} key=${id} />
      </section>`,
    );
}

/** The element that a module of a plugin fills. What goes wrong there stays there. */
function Mounted({ module, title, context }) {
  const box = useRef();
  const [problem, setProblem] = useState();
  useEffect(() => {
    let isOver = false;
    let unmount;
    const start = async () => {
      const { mount } = await import(module);
      if (isOver) return;
      unmount = await mount(box.current, { ...context, call, onEvent, go });
      if (isOver) unmount?.();
    };
    start().catch((error) => setProblem(`${title} failed: ${error?.message ?? error}`));
    return () => {
      isOver = true;
      try {
        unmount?.();
      } catch {
        // It is gone from the page either way.
      }
    };
  }, [module]);
  return html`<div><${Problem} text=${problem} /><div ref=${box}></div></div>`;
}

const lists = {
  '/api/stream': 'stream',
  '/api/asset': 'asset',
  '/api/session': 'session',
  '/api/task': 'task',
  '/api/webhook': 'webhook',
};

/** Columns that plugins add to a list of the API. */
export function pluginColumns(path) {
  const added = extensions.value.columns.filter(({ resource }) => resource === lists[path]);
  return added.map(({ field, title, format = 'text' }) => ({
    title,
    isEnd: ['number', 'bytes', 'duration'].includes(format),
    cell: (row) => shown(row[field], format),
  }));
}

/** A value of another kind than the plugin declared is shown as it is. */
function shown(value, format) {
  if (value === undefined || value === null) return '–';
  const isNumber = typeof value === 'number' && Number.isFinite(value);
  if (isNumber || format === 'flag') return formats[format](value);
  return formats.text(value);
}

const formats = {
  text: (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value)),
  number: count,
  bytes,
  duration,
  moment: (value) => html`<${Time} at=${value} />`,
  flag: (value) => (value ? 'Yes' : 'No'),
};
