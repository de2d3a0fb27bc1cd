import { type AnyElysia, Elysia, json, nothing, object, optional, says, Type } from '../../sdk/plugin.ts';
import { data, muxRoutes, noContent, present, segment } from './api.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import { pageParameters, rowsOf } from './paging.ts';

interface NativeKey {
  readonly id: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly privateKey?: string;
}

const keySchema = object({
  ...{ id: Type.String(), created_at: Type.String() },
  private_key: optional.string({ description: 'Base64 of a PEM. Only in the answer that created it.' }),
});
const one = json(object({ data: keySchema }), 'The signing key.');
const said = (name: string, answer: ReturnType<typeof json>, status = 200) => ({
  ...{
    name,
    credentials: ['basic'] as const,
    answers: { [status]: answer },
    faults: [...keyedFaults, 'server.busy'],
  },
});

/** `/system/v1/signing-keys`: pairs for RS256. */
export function signingKeyRoutes(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/system/v1/signing-keys`;
  const keyed = muxRoutes(kit);
  return new Elysia()
    .post(
      base,
      keyed(async ({ api }) =>
        data(shown(await api.ask('POST', '/api/signing-key', { name: 'Mux', algorithm: 'RS256' })), {
          status: 201,
        }),
      ),
      says('Creates a signing key.', said('createMuxSigningKey', one, 201)),
    )
    .get(
      base,
      keyed(async ({ request, api }) => {
        const keys = await rowsOf<NativeKey>(request, { api, path: '/api/signing-key' });
        return data(keys.map(shown));
      }),
      says('Lists signing keys, newest first.', {
        ...said('listMuxSigningKeys', json(object({ data: Type.Array(keySchema) }))),
        query: pageParameters,
      }),
    )
    .get(
      `${base}/:id`,
      keyed(async ({ api, params }) =>
        data(shown(await api.ask('GET', `/api/signing-key/${segment(params.id)}`))),
      ),
      says('A signing key.', said('getMuxSigningKey', one)),
    )
    .delete(
      `${base}/:id`,
      keyed(async ({ api, params }) => {
        await api.ask('DELETE', `/api/signing-key/${segment(params.id)}`);
        return noContent();
      }),
      says(
        'Deletes a signing key. Its tokens open nothing any more.',
        said('deleteMuxSigningKey', nothing, 204),
      ),
    );
}

function shown({ id, createdAt, privateKey }: NativeKey): Record<string, unknown> {
  return present({
    id,
    created_at: String(Math.floor(createdAt / 1000)),
    private_key: privateKey === undefined ? undefined : Buffer.from(privateKey).toString('base64'),
  });
}
