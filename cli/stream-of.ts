import { type Client, MillraceError, type Stream } from '../sdk/client/index.ts';
import { exits, Failure } from './command.ts';
import { bytes } from './table.ts';

/** The stream of an id, or the only one of a name. */
export async function streamOf(client: Client, idOrName: string): Promise<Stream> {
  try {
    return await client.getStream({ id: idOrName });
  } catch (error) {
    if (!(error instanceof MillraceError && error.status === 404)) throw error;
  }
  const [first, ...others] = await streamsNamed(client, idOrName);
  if (!first)
    throw new Failure(
      `there is no stream ${idOrName}. \`millrace stream list\` shows all; \`millrace stream create\` makes one.`,
    );
  if (others.length > 0)
    throw new Failure(
      `several streams have the name ${idOrName}. Name one by its id: ${[first, ...others].map(({ id }) => id).join(', ')}.`,
    );
  return first;
}

export async function streamsNamed(client: Client, name: string): Promise<readonly Stream[]> {
  const found: Stream[] = [];
  const query = { streamsonly: true, filters: [{ id: 'name', value: name }] } as const;
  // The filter also finds names that contain this one.
  for await (const page of client.pages('listStreams', { query }))
    found.push(...page.filter((stream) => stream.name === name));
  return found;
}

/** The state of a stream in words. */
export function stateOf(stream: Stream): string {
  if (stream.suspended) return 'suspended';
  if (!stream.isActive) return 'off the air';
  const { isHealthy, ingestRate, viewerCount } = stream;
  return [
    'on the air',
    isHealthy === undefined ? '' : isHealthy ? 'healthy' : 'unhealthy',
    ingestRate === undefined ? '' : `${bytes(ingestRate).replace('B', 'bit')}/s`,
    viewerCount === undefined ? '' : `${viewerCount} ${viewerCount === 1 ? 'viewer' : 'viewers'}`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Without the secrets of a broadcast: a log may keep it. */
export function withoutKey({ streamKey, ingestUrl, ingest, ...open }: Stream): object {
  return open;
}

/** The server shows stream keys only to API keys that may change the stream. */
export function keyIsHidden(): Failure {
  return new Failure(
    'the API key may not change the stream, so the server does not show it the stream key. Use a key with more access.',
    exits.notAllowed,
  );
}
