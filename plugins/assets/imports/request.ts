import { Type } from '@sinclair/typebox';
import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../../core/base/fault.ts';
import { userTagsSchema } from '../../../core/base/name.ts';
import { object } from '../../../core/base/schema.ts';
import { authenticate, authenticator } from '../../../core/http/auth.ts';
import { bodyReader } from '../../../core/http/body.ts';
import { says } from '../../../core/http/http.ts';
import { idempotent } from '../../../core/http/idempotency.ts';
import { json } from '../../../core/http/operation.ts';
import { assetName, type ShownAsset, shownAsset } from '../asset/present.ts';
import type { AssetsKit } from '../config.ts';
import { assets, orderFaults } from '../contract.ts';
import { type Source, sourceOf } from './source.ts';

/** Characters of the URL of an import. */
const mostUrlCharacters = 8192;

/** `POST /api/asset/import`: an asset whose file is fetched from a URL, and the task that does it. */
export function importRoute(kit: AssetsKit): AnyElysia {
  const body = bodyOf(shownAsset(kit));
  const keys = kit.use(authenticator);
  const made = kit.use(assets);
  const once = idempotent(kit);

  return new Elysia().post(
    '/api/asset/import',
    async ({ request }) => {
      const principal = await authenticate(request, keys);
      return once(request, {
        principal,
        run: async ({ id, caller }) => {
          const { url, name: asked, userTags } = await body.read(request);
          const { shown, name } = checkedSource(url, kit);
          const { accountId: account, keyName: createdByTokenName } = principal;
          const source = { type: 'url', url: shown } as const;
          const given = { id, account, name: asked ?? name, source, userTags, createdByTokenName };
          const ordered = await made.order({ ...given, params: { url: shown }, secret: { url } }, caller);
          return Response.json(ordered, { status: 201 });
        },
      });
    },
    says(
      'Creates an asset whose file the server fetches from a URL. 201 with the asset and the task of the import; the task shows the progress.',
      {
        name: 'importAsset',
        body,
        answers: {
          201: json(object(made.ordered), 'The asset, waiting, and the task.'),
        },
        faults: ['import.bad_url', ...orderFaults],
      },
    ),
  );
}

/** Fault `import.bad_url` (422). */
function checkedSource(url: string, { outbound }: AssetsKit): Source {
  const source = sourceOf(url);
  const { url: asked = url, headers = {} } = source ?? {};
  const wrong = outbound.problem(asked, { headers });
  if (source && !wrong) return source;
  const message = `url: ${wrong?.message ?? 'expected a URL such as https://example.com/film.mp4'}.`;
  throw new Fault('import.bad_url', { status: 422, message });
}

const bodyOf = ({ readOnly }: ShownAsset) =>
  bodyReader(
    {
      url: Type.String({
        minLength: 1,
        maxLength: mostUrlCharacters,
        description:
          'http or https. A user and password in it are sent as Basic authentication. They, signatures and tokens are never shown.',
        examples: ['https://films.example.com/friday.mp4'],
      }),
      name: Type.Optional(assetName),
      userTags: Type.Optional(userTagsSchema),
    },
    { readOnly },
  );
