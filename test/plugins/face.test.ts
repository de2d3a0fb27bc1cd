import { expect, it } from 'vitest';
import type { Client } from '../../sdk/client/index.ts';
import {
  type Command,
  commands,
  type DashboardPage,
  dashboardColumns,
  dashboardPages,
  dashboardPanels,
  definePlugin,
  type Kit,
  type Offer,
  offer,
  type Plugin,
  type Tool,
  Type,
  tools,
} from '../../sdk/plugin.ts';
import { world } from '../kit/world.ts';

const page: DashboardPage = {
  id: 'acme-views',
  title: 'Views',
  module: '/acme/views.js',
  scope: 'data/views/:id',
};
const panel = { id: 'acme-views', title: 'Views', on: 'stream', module: '/acme/panel.js' } as const;
const column = { resource: 'stream', field: 'views', title: 'Views', format: 'number' } as const;
const command: Command<Client> = {
  name: 'views',
  summary: 'Shows the views of a playback id.',
  args: Type.Object({ id: Type.String() }),
  async run({ client, args, write }) {
    const answer = await client.request({ method: 'GET', path: `/api/data/views/${args.id}` });
    write(await answer.text());
    return 0;
  },
};
const tool: Tool<Client> = {
  name: 'get_views',
  description: 'How often something was watched.',
  input: Type.Object({ id: Type.String() }),
  run: async ({ input }) => ({ id: input.id }),
};

const declaring = (id: string, offers: readonly Offer<Kit>[]): Plugin =>
  definePlugin({ id, summary: 'declares a face', contract: 3, offers }) as unknown as Plugin;

it('is declared by a plugin and read by another', async () => {
  let kit: Kit | undefined;
  const reader = definePlugin({
    id: 'reader',
    summary: 'reads faces',
    contract: 3,
    start(given) {
      kit = given as unknown as Kit;
      return undefined;
    },
  }) as unknown as Plugin;
  const face = declaring('acme-views', [
    offer(dashboardPages, () => page),
    offer(dashboardPanels, () => panel),
    offer(dashboardColumns, () => column),
    offer(commands, () => command),
    offer(tools, () => tool),
  ]);
  await using _ = await world({ plugins: [reader, face] });
  expect(kit?.offered(dashboardPages)).toEqual([page]);
  expect(kit?.offered(dashboardPanels)).toEqual([panel]);
  expect(kit?.offered(dashboardColumns)).toEqual([column]);
  const lines: string[] = [];
  const asked: unknown[] = [];
  const client = {
    request: async (call: unknown) => {
      asked.push(call);
      return new Response('42');
    },
  } as unknown as Client;
  const { signal } = new AbortController();
  const [found] = (kit?.offered(commands) ?? []) as Command<Client>[];
  expect(await found?.run({ client, args: { id: 'x' }, signal, write: (line) => lines.push(line) })).toBe(0);
  expect([lines, asked]).toEqual([['42'], [{ method: 'GET', path: '/api/data/views/x' }]]);
  const [made] = (kit?.offered(tools) ?? []) as Tool<Client>[];
  expect(await made?.run({ client, input: { id: 'x' }, signal })).toEqual({ id: 'x' });
});

it('is refused where a name is taken, or something is wrong, with the name of the plugin', async () => {
  const wrong = declaring('wrong', [
    offer(dashboardPages, () => ({ ...page, id: 'Views' })),
    offer(dashboardPages, () => ({ ...page, module: 'https://example.com/x.js' })),
    offer(dashboardPanels, () => ({ ...panel, on: 'task' as 'stream' })),
    offer(dashboardColumns, () => ({ ...column, resource: 'node' as 'stream' })),
    offer(commands, () => ({ ...command, name: 'views top' })),
    offer(commands, () => ({ ...command, run: undefined as never })),
    offer(tools, () => ({ ...tool, name: 'get views' })),
    offer(tools, () => ({ ...tool, input: Type.String() as never })),
    offer(tools, (): Tool => {
      throw new Error('no tool today');
    }),
  ]);
  const twin = declaring('twin', [offer(dashboardPages, () => page), offer(tools, () => tool)]);
  const first = declaring('acme-views', [offer(dashboardPages, () => page), offer(tools, () => tool)]);
  const refused = world({ plugins: [first, wrong, twin] });
  await expect(refused).rejects.toMatchObject({
    code: 'boot.invalid',
    problems: [
      'plugin wrong: the dashboard page Views: expected a name in kebab-case of at most 64 characters, such as live-captions',
      'dashboard page acme-views is declared twice: by acme-views and wrong',
      'plugin wrong: the dashboard page acme-views: expected `module` to be a path such as /acme/page.js',
      'plugin wrong: the dashboard panel acme-views: expected `on` to be stream or asset',
      'plugin wrong: the dashboard column node.views: expected `resource` to be one of stream, asset, session, task, webhook',
      'plugin wrong: the command views top: expected a name in kebab-case of at most 64 characters, such as live-captions',
      'plugin wrong: the command views: expected `run` to be a function',
      'plugin wrong: the tool get views: expected a name of 1 to 64 letters, digits, _ and -',
      'tool get_views is declared twice: by acme-views and wrong',
      'plugin wrong: the tool get_views: expected `input` to be the schema of an object',
      'dashboard page acme-views is declared twice: by wrong and twin',
      'tool get_views is declared twice: by wrong and twin',
    ],
  });
});
