import type { EventOptions, MillraceEvent } from '../sdk/client/index.ts';
import { type Command, complain, exits, Failure, type Given, type Options, print, text } from './command.ts';
import { type Connection, clientOf, connectionOf, serverOptions } from './connection.ts';
import { untilInterrupted } from './interruption.ts';
import { streamOf } from './stream-of.ts';
import { moment, plain } from './table.ts';

/** Options that select events. */
export const eventOptions = {
  type: { type: 'string', value: 'TYPE', summary: 'only events of this type, such as stream.started' },
  stream: { type: 'string', value: 'ID|NAME', summary: 'only events of this stream' },
} as const satisfies Options;

export const events: Command = {
  name: 'events',
  usage: '[--follow] [--type TYPE] [--stream ID|NAME] [--after ID]',
  summary: 'prints the next event of the account; with --follow, all of them as they happen',
  details: 'A lost connection is opened again, and continues after the last event.',
  options: {
    follow: { type: 'boolean', summary: 'goes on until Ctrl+C' },
    ...eventOptions,
    after: { type: 'string', value: 'ID', summary: 'starts after the event of this id, of the last 24 h' },
    ...serverOptions,
  },
  async run(given) {
    const connection = await connectionOf(given);
    const after = text(given.options.after);
    const wanted = { ...(await wantedOf(given, connection)), ...(after !== undefined && { after }) };
    const isOne = !given.options.follow;
    const found = await untilInterrupted(async (signal) => {
      for await (const event of followed(connection, { ...wanted, signal })) {
        print(connection.isJson ? JSON.stringify(event) : lineOf(event));
        if (isOne) return true;
      }
      return false;
    });
    if (isOne && !found) throw new Failure('interrupted before an event happened.');
    return exits.fine;
  },
};

/** Which events the options select. */
export async function wantedOf({ options }: Given, { client }: Connection): Promise<EventOptions> {
  const [type, stream] = [text(options.type), text(options.stream)];
  const streamId = stream === undefined ? undefined : (await streamOf(client, stream)).id;
  return { ...(type !== undefined && { type }), ...(streamId !== undefined && { streamId }) };
}

/** The events, and a line on the standard error when the server has begun to send them. */
export function followed(connection: Connection, wanted: EventOptions): AsyncGenerator<MillraceEvent> {
  let connections = 0;
  const client = clientOf(connection, {
    onAnswer() {
      connections += 1;
      complain(connections === 1 ? `Connected to ${connection.url}.` : 'Connected again.');
    },
  });
  return client.events(wanted);
}

function lineOf({ id, event, createdAt, stream, payload }: MillraceEvent): string {
  const about = stream ? `${stream.name} (${stream.id})` : payload ? JSON.stringify(payload) : '';
  return plain(`${moment(createdAt)}  ${event.padEnd(24)}  ${about}  ${id}`);
}
