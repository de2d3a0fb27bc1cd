import { type AnyElysia, Elysia, nothing, says } from '../../sdk/plugin.ts';
import type { StudioKit } from './config.ts';

/** `OPTIONS`: answered as for our own API, since the keys are the same. */
export function preflightRoutes(kit: StudioKit): AnyElysia {
  return new Elysia().options(
    `${kit.config.path}/api/*`,
    ({ request }) => kit.ask(request, { method: 'OPTIONS', path: '/api/stream' }),
    says('Tells a browser whether some API key may be used from pages of its `Origin`.', {
      name: 'studioPreflight',
      isOpen: true,
      answers: { 204: nothing },
      faults: ['studio.forbidden', 'studio.unavailable'],
    }),
  );
}
