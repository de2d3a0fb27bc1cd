import { type Command, exits, print, text } from './command.ts';
import { connectionOf, serverOptions } from './connection.ts';
import { about } from './task.ts';
import { completed } from './task-state.ts';

/** Option of commands that start a task. */
export const followOption = {
  follow: { type: 'boolean', summary: 'shows its progress, and ends when it has ended' },
} as const;

export const importCommand: Command = {
  name: 'import',
  usage: '<url> [--name NAME] [--follow]',
  summary: 'lets the server fetch a film from a URL as a new asset',
  options: {
    name: { type: 'string', value: 'NAME', summary: 'name of the asset. Default: the file name in the URL' },
    ...followOption,
    ...serverOptions,
  },
  arguments: { least: 1, most: 1 },
  async run(given) {
    const { client, isJson } = await connectionOf(given);
    const [url = ''] = given.arguments;
    const name = text(given.options.name);
    const started = await client.importAsset({ body: { url, ...(name !== undefined && { name }) } });
    const task = given.options.follow ? await completed(client, started.task.id) : started.task;
    const asset = given.options.follow ? await client.getAsset({ id: started.asset.id }) : started.asset;
    print(isJson ? JSON.stringify({ asset, task }) : about(task));
    return exits.fine;
  },
};
