import type { Plugin } from '../../../core/plugin/plugin.ts';
import accounts from '../../../plugins/accounts/index.ts';
import events from '../../../plugins/events/index.ts';
import multistream from '../../../plugins/multistream/index.ts';
import renditions from '../../../plugins/renditions/index.ts';
import streams from '../../../plugins/streams/index.ts';

export const pushPlugins = [
  ...[accounts, streams, renditions, multistream, events],
] as unknown as readonly Plugin[];

/** No part of it may be found anywhere but in orders to the pusher. */
export const secretUrl = 'rtmp://live.example.com/app/secret-key-of-the-target';
export const targetPath = '/api/multistream/target';

type Asked = {
  request(
    method: string,
    path: string,
    options?: { body?: unknown },
    // biome-ignore lint/suspicious/noExplicitAny: answers of all routes
  ): Promise<{ status: number; body: any }>;
};

/** A target; answers its id. */
export async function givenTarget(w: Asked, body: Record<string, unknown> = {}): Promise<string> {
  const answer = await w.request('POST', targetPath, { body: { name: 'T', url: secretUrl, ...body } });
  if (answer.status !== 201) throw new Error(`no target: ${JSON.stringify(answer.body)}`);
  return answer.body.id;
}

/** The value of the field that names these targets. */
export function targets(...ids: readonly string[]) {
  return { targets: ids.map((id) => ({ profile: 'source', id })) };
}

/** Events about targets, in short: `connected T`, `error T: why`. */
export function inShort(events: readonly Told[]): string[] {
  return events
    .filter(({ event }) => event.startsWith('multistream.'))
    .map(({ event, payload }) => {
      const why = payload.error === undefined ? '' : `: ${payload.error}`;
      return `${event.replace('multistream.', '')} ${payload.target.name}${why}`;
    });
}

interface Told {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: payloads of all events
  readonly payload?: any;
}
