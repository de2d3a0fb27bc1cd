import { type TSchema, Type } from '@sinclair/typebox';
import { bytesOf, limitSchema, sizeSchema } from '../../core/base/config-fields.ts';
import { object } from '../../core/base/schema.ts';
import type { LimitName } from '../../core/http/account-limits.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

const count = (description: string, value: number) =>
  Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
    ...{ description, default: value, expected: 'a whole number, or null for no limit' },
  });

const size = (description: string, value: string) =>
  Type.Union([sizeSchema(''), Type.Null()], {
    ...{ description, default: value, expected: 'a size such as "10GB", or null for no limit' },
  });

export const config = Type.Object({
  keyRate: limitSchema(
    'Requests that one API key may make for ever. One that changes something counts as 2, a list of 1,000 as 10, each further 32 KiB of a body as 1. More get 429 `rate.limited`. The bootstrap key has no such limit.',
    { default: 100, unit: 'requests/s' },
  ),
  keyBurst: limitSchema('Requests that one API key may make at once.', { default: 1000, unit: 'requests' }),
  accountRate: limitSchema(
    'Requests that all API keys of one account together may make for ever, counted in the same way. The admin account has no such limit.',
    { default: 1000, unit: 'requests/s' },
  ),
  accountBurst: limitSchema('Requests that all API keys of one account together may make at once.', {
    default: 10_000,
    unit: 'requests',
  }),
  addressRate: limitSchema(
    'The same for all requests without a key from one IP address, or one /64 of IPv6: to `GET /api/playback/{id}`, `GET /api/ingest`, `POST /api/sign-in`. One with a wrong key counts as 5. Media does not count. Behind a proxy, name it in `http.trustedProxies`: otherwise all clients have its address.',
    { default: 1000, unit: 'requests/s' },
  ),
  addressBurst: limitSchema('Requests without a key that may come from one address at once.', {
    default: 30_000,
    unit: 'requests',
  }),
  account: object(
    {
      streams: count('Streams, without sessions. null: no limit.', 10_000),
      assets: count('Assets. Recordings still become assets. null: no limit.', 100_000),
      storedBytes: size(
        'Files of assets and recordings; the documents of streams, sessions, assets, tasks, targets, webhooks with their delivery logs, and API keys; events and answers kept for an `Idempotency-Key` of the last 24 h. null: no limit.',
        '1TB',
      ),
      broadcasts: count('Broadcasts at one time. One more is refused. null: no limit.', 100),
      liveBytes: size(
        'Memory of live media on one node. An account that needs more ends its own largest broadcast. null: no limit but `hls.memory`, of which each account has its share.',
        '4GiB',
      ),
      encodingSeconds: count(
        'Seconds of media that are encoded in a calendar month (UTC): of live renditions, transcodes and conversions, each rendition by itself. null: no limit.',
        3_600_000,
      ),
      webhooks: count('Webhooks; `plugins.webhooks.maxPerAccount` holds too. null: no limit.', 50),
      webhookAttempts: count('Attempts a minute to deliver to one host, on one node. null: no limit.', 6000),
    },
    {
      default: {},
      description:
        'What an account may have unless `limits` of `PATCH /api/account/{id}` says otherwise. More gets 409 `account.limit`. The admin account has none of these limits.',
    },
  ),
});

/** What this plugin is given. */
export type LimitsKit = Kit<typeof config>;

/** A limit of the deployment, as a number. Null: none. */
export function defaultOf(name: LimitName, { account }: LimitsKit['config']): number | null {
  const value = account[name];
  return typeof value === 'string' ? bytesOf(value) : value;
}

/** `limits` of an account, as the API takes and shows them. */
export const limitsSchema: TSchema = Type.Union(
  [
    object(
      Object.fromEntries(
        (Object.keys(config.properties.account.properties) as LimitName[]).map((name) => [
          name,
          Type.Optional(
            Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
              expected: 'a whole number, or null for no limit',
            }),
          ),
        ]),
      ),
    ),
    Type.Null(),
  ],
  {
    description:
      'Limits of this account. What is absent is that of the deployment (`plugins.limits.account`); null: no limit. A change replaces all of them.',
    examples: [{ streams: 100, storedBytes: 50_000_000_000 }],
  },
);
