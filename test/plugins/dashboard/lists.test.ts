import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const plugins = await allPlugins();
const pages = join(import.meta.dirname, '../../../plugins/dashboard/page/pages');

/** The pages with lists, and the list that each of them asks for. */
const lists = {
  'assets.js': '/api/asset',
  'audit.js': '/api/audit',
  'keys.js': '/api/api-token',
  'streams.js': '/api/stream',
  'tasks.js': '/api/task',
  'webhooks.js': '/api/webhook',
  'webhook-log.js': '/api/webhook/:id/log',
  'stream.js': '/api/stream/:id/sessions',
};

describe.each(Object.entries(lists))('the list of %s', (file, path) => {
  const source = readFileSync(join(pages, file), 'utf8');
  const orders = [...source.matchAll(/order: '(\w+)'/g)].map(([, field]) => ({ order: `${field}-true` }));
  const filters = [...source.matchAll(/\{\s*id: '(\w+)',\s*title: '[^']*'\s*(,\s*options)?/g)].map(
    ([, id, options]) => ({ filters: JSON.stringify([{ id, value: options ? true : 'x' }]) }),
  );

  it('is sorted and filtered only as the API can', async () => {
    await using w = await world({ plugins });
    const hook = { name: 'x', url: 'https://example.com', events: ['stream.started'] };
    const { id } = path.includes('webhook/')
      ? (await w.request('POST', '/api/webhook', { body: hook })).body
      : path.includes(':id')
        ? await w.given.stream()
        : { id: '' };
    expect(orders.length).toBeGreaterThan(0);
    for (const query of [...orders, ...filters]) {
      const { status, body } = await w.request(
        'GET',
        `${path.replace(':id', id)}?${new URLSearchParams(query)}`,
      );
      // A filter of another kind of value is a mistake of this test.
      const problem =
        status === 200 || /expected (a )?(string|text)/.test(body.errors[0]) ? '' : body.errors[0];
      expect(problem, JSON.stringify(query)).toBe('');
    }
  });
});
