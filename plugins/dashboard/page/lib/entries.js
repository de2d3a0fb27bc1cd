/** Entries of the rail: id, title, key after `g`, path that the key must be allowed to GET. `isWide`: not in the bar of a phone. */
export const entries = [
  { id: '', title: 'Home', letter: 'h' },
  { id: 'streams', title: 'Streams', letter: 's', path: 'stream' },
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
