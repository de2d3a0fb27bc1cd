/** Entries of the rail: id, title, key after `g`, path that the key must be allowed to GET. `isWide`: not in the bar of a phone. */
export const entries = [
  { id: '', title: 'Home', letter: 'h' },
  { id: 'streams', title: 'Streams', letter: 's', path: 'stream' },
  { id: 'assets', title: 'Assets', letter: 'a', path: 'asset' },
  { id: 'tasks', title: 'Tasks', letter: 't', path: 'task' },
  { id: 'webhooks', title: 'Webhooks', letter: 'w', path: 'webhook', isWide: true },
  { id: 'events', title: 'Events', letter: 'e', path: 'events', isWide: true },
  { id: 'keys', title: 'API keys', letter: 'k', path: 'api-token', isWide: true },
  { id: 'audit', title: 'Audit log', letter: 'u', path: 'audit', isWide: true },
  { id: 'system', title: 'System', letter: 'y', path: 'system', isWide: true },
];

/** Pages of one thing belong to the entry of their list. */
export const listOf = {
  stream: 'streams',
  session: 'streams',
  asset: 'assets',
  task: 'tasks',
  webhook: 'webhooks',
};

export const hrefOf = (id) => (id === '' ? '/' : `/dashboard/${id}`);
