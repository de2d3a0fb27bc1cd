import { type AnyElysia, Elysia } from 'elysia';
import { originNotAllowed, preflightAnswer } from '../../core/http/cors.ts';
import { says } from '../../core/http/http.ts';
import { nothing, storeFaults } from '../../core/http/operation.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { originIndex } from './token-document.ts';

/**
 * `OPTIONS /api/*`. A preflight has no key, so it is allowed for origins that any key allows. The key of the request that
 * follows is checked then.
 */
export function preflightRoutes(kit: Kit): AnyElysia {
  const isAllowed = async (origin: string) =>
    (await kit.resources.find('api-token', originIndex(origin), 'allowed')) !== undefined;

  return new Elysia().options(
    '/api/*',
    async ({ request }) => {
      const origin = request.headers.get('origin');
      if (origin === null) return new Response(null, { status: 204 });
      if ((await isAllowed(origin)) || (await isAllowed('*'))) return preflightAnswer(origin);
      throw originNotAllowed(`No API key may be used from pages of ${origin}.`);
    },
    says('Tells a browser whether some API key may be used from pages of its `Origin`.', {
      name: 'preflight',
      isOpen: true,
      answers: { 204: nothing },
      faults: ['auth.origin_not_allowed', ...storeFaults],
    }),
  );
}
