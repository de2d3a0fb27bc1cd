import type { WebhookFormat } from '../../sdk/plugin.ts';
import { eventPrefix, formatName, type MuxPayload } from './events.ts';

/** Bodies of webhooks as Mux writes them, and their `Mux-Signature`. */
export const muxFormat: WebhookFormat = {
  name: formatName,
  body({ id, event, createdAt, payload }, { account }) {
    if (!event.startsWith(eventPrefix)) return undefined;
    const { object, data } = payload as MuxPayload;
    return JSON.stringify({
      type: event.slice(eventPrefix.length),
      id,
      created_at: new Date(createdAt).toISOString(),
      object,
      environment: { name: 'Production', id: account },
      data,
      attempts: [],
    });
  },
  headers: ({ body, timestamp, sign }) => ({
    'mux-signature': [`t=${timestamp}`, ...sign(`${timestamp}.${body}`).map((one) => `v1=${one}`)].join(','),
  }),
};
