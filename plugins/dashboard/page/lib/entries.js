/**
 * Entries of the rail: id, title, key after `g`, path that the key must be allowed to GET. `isWide`: not in the bar of a phone.
 * `isLast`: below those of plugins. `field`: of a plugin that may be off.
 */
export const entries = [
  { id: '', title: 'Home', letter: 'h' },
  { id: 'streams', title: 'Streams', letter: 's', path: 'stream' },
  { id: 'assets', title: 'Assets', letter: 'a', path: 'asset' },
  { id: 'tasks', title: 'Tasks', letter: 't', path: 'task' },
  { id: 'webhooks', title: 'Webhooks', letter: 'w', path: 'webhook', isWide: true },
  { id: 'events', title: 'Events', letter: 'e', path: 'events', isWide: true },
  { id: 'keys', title: 'API keys', letter: 'k', path: 'api-token', isWide: true, isLast: true },
  {
    ...{ id: 'signing-keys', title: 'Signing keys', letter: 'i', path: 'signing-key' },
    ...{ field: ['stream', 'playbackPolicy'], isWide: true, isLast: true },
  },
  {
    ...{ id: 'usage', title: 'Usage', letter: 'l', path: 'account/usage' },
    ...{ field: ['account', 'limits'], isWide: true, isLast: true },
  },
  { id: 'audit', title: 'Audit log', letter: 'u', path: 'audit', isWide: true, isLast: true },
  { id: 'system', title: 'System', letter: 'y', path: 'system', isWide: true, isLast: true },
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
