import { definePlugin, type Kit, type Plugin } from '../../core/plugin/plugin.ts';

/** A plugin that emits whatever event a test names, as another feature would. */
export function emitter(): { plugin: Plugin; emit(event: Emission): Promise<string> } {
  let kit: Kit | undefined;
  let count = 0;
  const plugin = definePlugin({
    id: 'emitter',
    summary: 'emits what a test names',
    start(given) {
      kit = given as unknown as Kit;
      return undefined;
    },
  }) as unknown as Plugin;
  return {
    plugin,
    async emit({ type, account, stream = '', payload = {} }) {
      if (!kit) throw new Error('the emitter was not started');
      count += 1;
      const id = `emitted/${count}/${type}`;
      const at = kit.clock.now();
      const body = {
        id,
        createdAt: at,
        timestamp: at,
        event: type,
        ...(stream && { stream: { id: stream } }),
        payload,
      };
      const event = { id, type, account, stream, body: JSON.stringify(body) };
      await kit.resources.write({ rows: [], events: [event] });
      return id;
    },
  };
}

interface Emission {
  readonly type: string;
  readonly account: string;
  readonly stream?: string;
  readonly payload?: unknown;
}
