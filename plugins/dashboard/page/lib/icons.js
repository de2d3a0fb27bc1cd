import { html } from './html.js';

/** Lines of 1.5 px on a field of 18. */
const paths = {
  wheel:
    'M9 1.5a7.5 7.5 0 1 0 0 15 7.5 7.5 0 0 0 0-15Zm0 5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5Zm0 0v-5m0 15v-5M6.5 9h-5m15 0h-5',
  home: 'M2.5 8.5 9 3l6.5 5.5V15h-4.5v-4H7v4H2.5Z',
  streams:
    'M9 7.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3ZM5.5 12.5a5 5 0 0 1 0-7m7 0a5 5 0 0 1 0 7M3 15a8.5 8.5 0 0 1 0-12m12 0a8.5 8.5 0 0 1 0 12',
  assets: 'M2.5 3.5h13v11h-13ZM7.5 6.5v5l4-2.5Z',
  tasks: 'M2.5 4.5 4 6l2.5-3M8.5 5h7m-13 5.5L4 12l2.5-3m2 2.5h7',
  webhooks:
    'M6.5 11.5 9 6.5m0 0a2.5 2.5 0 1 0-2.5-2.6M9 6.5l2.8 5.2M4 11.2a2.5 2.5 0 1 0 3.2 2.8h5.3m0 0a2.5 2.5 0 1 0 .3-2.5',
  events: 'M10 1.5 3.5 10H9l-1 6.5L14.5 8H9Z',
  keys: 'M6 8a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7Zm2.5 1 6-6m-2.5 2.5L14 7.5',
  'signing-keys': 'M6 6a3 3 0 1 0 0 6 3 3 0 0 0 0-6Zm3 3h6.5v3M12.5 9v2.5M2.5 2.5h13m-13 13h13',
  usage: 'M2.5 15.5h13M4.5 15V9.5M9 15V3m4.5 12V6.5',
  system: 'M2.5 3h13v4.5h-13Zm0 7.5h13V15h-13ZM5 5.2h.1M5 12.7h.1',
  audit: 'M9 1.5 15 4v5c0 3.5-2.5 6-6 7.5C5.5 15 3 12.5 3 9V4Zm-2.5 7 2 2L12 7',
  docs: 'M4 2h7l3 3v11H4Zm7 0v3h3M6.5 8.5h5m-5 3h5',
  guides: 'M9 4.5C7.5 3 5 2.5 2.5 2.5v11c2.5 0 5 .5 6.5 2 1.5-1.5 4-2 6.5-2v-11C13 2.5 10.5 3 9 4.5Zm0 0v11',
  theme: 'M9 2a7 7 0 1 0 0 14Zm0 0a7 7 0 0 1 0 14',
  out: 'M7 2.5H3v13h4M11.5 5.5 15 9l-3.5 3.5M15 9H7',
  fold: 'M2.5 3h13v12h-13Zm4.5 0v12',
  more: 'M4 9h.1M9 9h.1M14 9h.1',
  page: 'M3 3h12v12H3Z',
};

export function icon(name) {
  return html`<svg width="18" height="18" viewBox="0 0 18 18" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round" stroke-linecap="round" aria-hidden="true">
    <path d=${paths[name] ?? paths.page} />
  </svg>`;
}
