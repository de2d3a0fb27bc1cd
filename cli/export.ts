import { type Command, exits, Failure, type Given, print, text } from './command.ts';
import { connectionOf, serverOptions } from './connection.ts';
import { followOption } from './import.ts';
import { about } from './task.ts';
import { completed } from './task-state.ts';

export const exportCommand: Command = {
  name: 'export',
  usage: '<asset> --ipfs | --url URL [--method METHOD] [--header HEADER]… [--follow]',
  summary: 'lets the server send an asset to IPFS or to a URL',
  options: {
    ipfs: { type: 'boolean', summary: 'adds it to IPFS, as the config of the server says' },
    url: { type: 'string', value: 'URL', summary: 'sends the file there, such as a signed URL of S3' },
    method: { type: 'string', value: 'METHOD', summary: 'PUT (default), POST or PATCH' },
    header: {
      ...{ type: 'string', multiple: true, value: 'HEADER' },
      summary: "a header of the request, such as 'x-acl: private'. May be repeated",
    },
    ...followOption,
    ...serverOptions,
  },
  arguments: { least: 1, most: 1 },
  async run(given) {
    const body = bodyOf(given);
    const { client, isJson } = await connectionOf(given);
    const started = await client.exportAsset({ id: given.arguments[0] ?? '', body });
    const task = given.options.follow ? await completed(client, started.task.id) : started.task;
    print(isJson ? JSON.stringify({ task }) : about(task));
    return exits.fine;
  },
};

function bodyOf({ options }: Given) {
  const url = text(options.url);
  if ((options.ipfs === true) === (url !== undefined))
    throw new Failure('expected either --ipfs or --url URL.', exits.usage);
  if (url === undefined) return { ipfs: {} };
  const method = text(options.method);
  const given = Array.isArray(options.header) ? options.header.map(String) : [];
  const headers = Object.fromEntries(given.map(headerOf));
  return {
    custom: { url, ...(method !== undefined && { method }), ...(given.length > 0 && { headers }) },
  };
}

function headerOf(given: string): [string, string] {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(given) ?? [];
  if (name === undefined || value === undefined)
    // It may be a secret, so it is not repeated.
    throw new Failure("--header: expected a name and a value, such as 'x-acl: private'.", exits.usage);
  return [name, value];
}
