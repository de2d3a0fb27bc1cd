import type { Stream } from '../sdk/client/index.ts';
import { type Command, exits, Failure, print } from './command.ts';
import { connectionOf, serverOptions } from './connection.ts';
import { limitOf, limitOption, printRows, rowsOf } from './rows.ts';
import { keyIsHidden, stateOf, streamOf, withoutKey } from './stream-of.ts';
import { facts, moment } from './table.ts';

export const streamList: Command = {
  name: 'stream list',
  usage: '[--active] [--limit N]',
  summary: 'lists the streams, newest first',
  options: {
    active: { type: 'boolean', summary: 'only those that are on the air' },
    ...limitOption,
    ...serverOptions,
  },
  async run(given) {
    const limit = limitOf(given);
    const { client, isJson } = await connectionOf(given);
    const query = {
      streamsonly: true,
      ...(given.options.active === true && { active: true }),
      limit: Math.min(limit, 100),
    };
    const streams = await rowsOf(client.pages('listStreams', { query }), limit);
    printRows(streams, {
      isJson,
      none: 'There are no streams. `millrace stream create NAME` makes one.',
      head: ['ID', 'STATE', 'CREATED', 'NAME'],
      cells: (stream) => [stream.id, stateOf(stream), moment(stream.createdAtMs), stream.name],
    });
    return exits.fine;
  },
};

export const streamCreate: Command = {
  name: 'stream create',
  usage: '<name> [--record]',
  summary: 'creates a stream, and prints where an encoder sends it',
  options: { record: { type: 'boolean', summary: 'records its broadcasts' }, ...serverOptions },
  arguments: { least: 1, most: 1 },
  async run(given) {
    const { client, isJson } = await connectionOf(given);
    const [name = ''] = given.arguments;
    const stream = await client.createStream({
      body: { name, ...(given.options.record === true && { record: true }) },
    });
    print(isJson ? JSON.stringify(stream) : `${about(stream)}\n${ingestOf(stream)}`);
    return exits.fine;
  },
};

export const streamShow: Command = {
  name: 'stream show',
  usage: '<id|name>',
  summary: 'shows a stream and its state, without its key',
  options: serverOptions,
  arguments: { least: 1, most: 1 },
  async run(given) {
    const { client, isJson } = await connectionOf(given);
    const stream = await streamOf(client, given.arguments[0] ?? '');
    print(isJson ? JSON.stringify(withoutKey(stream)) : about(stream));
    return exits.fine;
  },
};

export const streamKey: Command = {
  name: 'stream key',
  usage: '<id|name> [--rotate]',
  summary: 'prints the server and the key for an encoder',
  details: 'A stream key is a secret: everyone who has it can broadcast.',
  options: {
    rotate: { type: 'boolean', summary: 'replaces the key first; the old one is refused from then on' },
    ...serverOptions,
  },
  arguments: { least: 1, most: 1 },
  async run(given) {
    const { client, isJson } = await connectionOf(given);
    const { id } = await streamOf(client, given.arguments[0] ?? '');
    if (given.options.rotate === true) await client.rotateStreamKey({ id });
    const stream = await client.getStream({ id });
    if (stream.parentId !== undefined)
      throw new Failure(`${id} is a session; its stream ${stream.parentId} has the key.`);
    if (stream.streamKey === undefined) throw keyIsHidden();
    const { streamKey, ingestUrl, ingest } = stream;
    print(isJson ? JSON.stringify({ id, streamKey, ingestUrl, ingest }) : ingestOf(stream));
    return exits.fine;
  },
};

function about(stream: Stream): string {
  return facts({
    Stream: stream.name,
    Id: stream.id,
    State: stateOf(stream),
    Issues: stream.issues.join(' '),
    Recording: stream.record ? (stream.recordingStatus ?? 'on') : 'off',
    Created: moment(stream.createdAtMs),
    Watch: stream.watchUrl,
    HLS: stream.playbackUrl,
  });
}

function ingestOf({ ingest, ingestUrl, streamKey }: Stream): string {
  return facts({ Server: ingest?.url, Key: ingest?.key ?? streamKey, URL: ingestUrl });
}
