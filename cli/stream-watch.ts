import type { Client, Stream } from '../sdk/client/index.ts';
import { type Command, complain, exits, print } from './command.ts';
import { connectionOf, serverOptions } from './connection.ts';
import { failureOf } from './failure.ts';
import { pause, untilInterrupted } from './interruption.ts';
import { stateOf, streamOf, withoutKey } from './stream-of.ts';
import { moment } from './table.ts';

/** Between two looks at the stream, ms. */
const interval = 1000;

export const streamWatch: Command = {
  name: 'stream watch',
  usage: '<id|name>',
  summary: 'prints the watch URL, and the state of the stream whenever it changes',
  details: 'Ends with Ctrl+C. While the server is away it waits for it.',
  options: serverOptions,
  arguments: { least: 1, most: 1 },
  async run(given) {
    const { client, isJson } = await connectionOf(given);
    const first = await streamOf(client, given.arguments[0] ?? '');
    if (!isJson) print(`Watch: ${first.watchUrl ?? first.playbackUrl ?? 'this server plays nothing'}`);
    await untilInterrupted(async (signal) => {
      for await (const stream of statesOf(client, { first, signal }))
        print(isJson ? JSON.stringify(withoutKey(stream)) : lineOf(stream));
    });
    return exits.fine;
  },
};

/** The stream now, and whenever what people want to know of it has changed. */
async function* statesOf(
  client: Client,
  { first, signal }: { first: Stream; signal: AbortSignal },
): AsyncGenerator<Stream> {
  let known = '';
  let isAway = false;
  for (let stream = first; ; ) {
    const { isActive, isHealthy, suspended, issues, viewerCount, recordingStatus } = stream;
    const state = JSON.stringify([isActive, isHealthy, suspended, issues, viewerCount, recordingStatus]);
    if (state !== known) yield stream;
    known = state;
    await pause(interval, signal);
    try {
      stream = await client.getStream({ id: first.id, signal });
      isAway = false;
    } catch (error) {
      const failure = failureOf(error);
      if (failure?.exit !== exits.unreachable) throw error;
      if (!isAway) complain(`millrace stream watch: ${failure.message}`);
      isAway = true;
    }
  }
}

function lineOf(stream: Stream): string {
  const now = moment(Date.now()).slice(-'00:00:00'.length);
  return [`${now}  ${stateOf(stream)}`, ...stream.issues.map((issue) => `          ${issue}`)].join('\n');
}
