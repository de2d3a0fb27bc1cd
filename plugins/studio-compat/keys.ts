import type { AnyElysia } from '../../sdk/plugin.ts';
import { listQuery, pageQuery, segment, studioRoutes, unsupported } from './calls.ts';
import type { StudioKit } from './config.ts';
import { keyBody } from './given.ts';
import { keyShown } from './shown.ts';
import { listed } from './streams.ts';

/** Signing keys of private playback. */
export function keyRoutes(kit: StudioKit): AnyElysia {
  const { app, declare } = studioRoutes(kit);
  const path = '/access-control/signing-key';
  declare('POST', path, {
    name: 'CreateSigningKey',
    summary: 'Creates a signing key. Its `privateKey` is never shown again.',
    body: keyBody,
    async run({ request, ask }) {
      const { name } = await keyBody.read(request);
      const made = await ask('POST', '/api/signing-key', { body: name === undefined ? {} : { name } });
      return { ...made, body: keyShown(made.body) };
    },
  });
  declare('GET', path, {
    ...{ name: 'ListSigningKeys', summary: 'Lists signing keys.', gives: 'list', query: pageQuery },
    run: async ({ request, ask }) =>
      listed(await ask('GET', `/api/signing-key${listQuery(request)}`), keyShown),
  });
  declare('GET', `${path}/:id`, {
    ...{ name: 'GetSigningKey', summary: 'One signing key.' },
    async run({ params, ask }) {
      const found = await ask('GET', `/api/signing-key/${segment(params.id)}`);
      return { ...found, body: keyShown(found.body) };
    },
  });
  declare('PATCH', `${path}/:id`, {
    ...{ name: 'UpdateSigningKey', summary: 'Not possible: a signing key never changes.', gives: 'none' },
    async run({ params, ask }) {
      await ask('GET', `/api/signing-key/${segment(params.id)}`);
      throw unsupported('A signing key cannot be changed. To end its use, delete it.', 501);
    },
  });
  declare('DELETE', `${path}/:id`, {
    ...{ name: 'DeleteSigningKey', summary: 'Deletes a signing key.', gives: 'none' },
    run: ({ params, ask }) => ask('DELETE', `/api/signing-key/${segment(params.id)}`),
  });
  return app;
}
