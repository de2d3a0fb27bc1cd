import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Client, Stream } from '../sdk/client/index.ts';
import { type Command, exits, Failure, type Given, print, text } from './command.ts';
import { type Connection, connectionOf, serverOptions } from './connection.ts';
import { failureOf } from './failure.ts';
import { pause, untilInterrupted } from './interruption.ts';
import { publishClip, publishWithFfmpeg } from './publisher.ts';
import { keyIsHidden, streamOf, streamsNamed } from './stream-of.ts';
import { facts } from './table.ts';

/** Between two looks whether it is on the air, ms. */
const interval = 250;
/** Of streams that are made for a broadcast without `--stream`. */
const testName = 'Test pattern';

export const push: Command = {
  name: 'push',
  usage: '<file> | --test-pattern [--stream ID|NAME] [--loop]',
  summary: 'broadcasts a film, or a test pattern, to a stream until it ends or Ctrl+C',
  details:
    'A film needs ffmpeg on the PATH, which encodes it to H.264 and AAC. Without ffmpeg, --test-pattern sends the clip of the demo.\n' +
    'The stream key is an argument of ffmpeg, so other users of this machine can see it while the broadcast runs.',
  options: {
    'test-pattern': { type: 'boolean', summary: 'broadcasts a moving picture and a tone' },
    stream: {
      ...{ type: 'string', value: 'ID|NAME' },
      summary:
        'the stream. Default: the one with the name of the film, which is created if it does not exist',
    },
    loop: { type: 'boolean', summary: 'begins the film again when it is over' },
    ...serverOptions,
  },
  arguments: { least: 0, most: 1 },
  async run(given) {
    const file = await fileOf(given);
    const ffmpeg = Bun.which('ffmpeg');
    if (file !== undefined && ffmpeg === null)
      throw new Failure(
        'ffmpeg is not on the PATH, and a film needs it. Install ffmpeg, or use --test-pattern.',
      );
    const connection = await connectionOf(given);
    const stream = await target(connection.client, { given, name: file ? basename(file) : testName });
    if (stream.streamKey === undefined) throw keyIsHidden();
    const url = stream.ingestUrl;
    if (url === undefined || stream.suspended)
      throw new Failure(
        stream.suspended
          ? `the stream ${stream.name} is suspended, so its broadcasts are refused.`
          : `the server has no address for broadcasts of ${stream.name}.`,
      );
    say(connection, { state: 'starting', stream });
    const ended = new AbortController();
    await untilInterrupted(async (signal) => {
      const stopped = AbortSignal.any([signal, ended.signal]);
      const told = onAir(connection, { stream, signal: stopped });
      try {
        if (ffmpeg === null) await publishClip(url, { signal });
        else await publishWithFfmpeg(url, { ffmpeg, file, isLoop: given.options.loop === true, signal });
      } finally {
        ended.abort();
        await told;
      }
    });
    say(connection, { state: 'ended', stream });
    return exits.fine;
  },
};

/** The film. Undefined: the test pattern. */
async function fileOf({ arguments: [file], options }: Given): Promise<string | undefined> {
  if ((file === undefined) !== (options['test-pattern'] === true))
    throw new Failure('expected either a file or --test-pattern.', exits.usage);
  if (file !== undefined && !(await stat(file).catch(() => undefined))?.isFile())
    throw new Failure(`${file} is no file that can be read.`, exits.usage);
  return file;
}

async function target(client: Client, { given, name }: { given: Given; name: string }): Promise<Stream> {
  const wanted = text(given.options.stream);
  if (wanted !== undefined) return streamOf(client, wanted);
  const known = (await streamsNamed(client, name)).find(({ isActive, suspended }) => !isActive && !suspended);
  return known ?? client.createStream({ body: { name } });
}

/** Says it when the stream is on the air. */
async function onAir(
  connection: Connection,
  { stream, signal }: { stream: Stream; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const current = await connection.client.getStream({ id: stream.id, signal });
      if (current.isActive) return say(connection, { state: 'active', stream: current });
      await pause(interval, signal);
    } catch (error) {
      // The broadcast itself says what is wrong with the server.
      if (!signal.aborted && !failureOf(error)) throw error;
    }
  }
}

type State = 'starting' | 'active' | 'ended';

function say({ isJson }: Connection, { state, stream }: { state: State; stream: Stream }): void {
  const { id, name, playbackId, watchUrl, playbackUrl } = stream;
  if (isJson) print(JSON.stringify({ state, stream: { id, name, playbackId, watchUrl, playbackUrl } }));
  else if (state === 'starting') print(facts({ Stream: name, Id: id, Watch: watchUrl, HLS: playbackUrl }));
  else print(state === 'active' ? 'On the air. Ctrl+C ends it.' : 'The broadcast has ended.');
}
