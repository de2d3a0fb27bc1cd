import type { Webhook } from './webhook.ts';

const none = '00000000-0000-4000-8000-000000000000';

/** Body of a delivery that tests a webhook: the shape of the event, with nothing real in it. */
export function sampleBody(webhook: Webhook, options: { id: string; event: string; at: number }): string {
  const { id, event, at } = options;
  const createdAt = Math.floor(at / 1000);
  const [feature = ''] = event.split('.');
  const stream = {
    ...{ id: webhook.streamId ?? none, kind: 'stream', name: 'Example', userId: webhook.account, createdAt },
    ...{ playbackId: '0'.repeat(16), isActive: event !== 'stream.idle' && event !== 'recording.waiting' },
  };
  const isOfStream = feature === 'stream' || feature === 'recording' || feature === 'multistream';
  const payload = payloads[event] ?? payloads[feature];
  return JSON.stringify({
    ...{ id, webhookId: webhook.id, createdAt: at, timestamp: at, event },
    ...(isOfStream && { stream }),
    ...(payload !== undefined && { payload }),
  });
}

const asset = { id: none, name: 'Example', status: 'ready', playbackId: '0'.repeat(16) };
const payloads: Readonly<Record<string, unknown>> = {
  asset: { asset },
  task: { task: { id: none, type: 'import', status: { phase: 'completed' }, outputAssetId: none } },
  multistream: { target: { id: none, name: 'Example', profile: 'source' } },
  'multistream.error': { target: { id: none, name: 'Example', profile: 'source' }, error: 'An example.' },
  'stream.health': { health: { sessionId: none, isHealthy: true, issues: [] } },
  'recording.ready': {
    recordingUrl: `https://example.com/recordings/${none}/index.m3u8`,
    mp4Url: `https://example.com/recordings/${none}/source.mp4`,
    session: { id: none, kind: 'stream', parentId: none },
    assetId: none,
  },
};
