import { type Static, Type } from '@sinclair/typebox';
import { Fault, unlessRefused } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import { maxNameLength, nameSchema } from '../../core/base/name.ts';
import { object } from '../../core/base/schema.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import type { Principal } from '../../core/http/auth.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import { type Quota, quota } from '../../core/http/quota.ts';
import { type PlainResource, plainResources } from '../../core/plugin/plain-resource.ts';
import { sealRows } from '../../core/plugin/sealed-rows.ts';
import { services } from '../../core/plugin/services.ts';
import { pushUrl } from '../../core/push-url/push-url.ts';
import type { MultistreamKit } from './config.ts';

/** A destination of pushes: a plain resource of an account. */
export interface Target {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  /** A secret: it holds the user's key. No answer, event or log shows it. Stored sealed; `urlOf` opens it. */
  readonly url: string;
  readonly disabled: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
}

const urlLength = 2000;
/** With an ASCII host: no resolver would look up others for these schemes. */
const urlPattern = (() => {
  const plain = '[^\\s\\u0000-\\u001f]';
  const user = '(?:[^\\s\\u0000-\\u001f/?#@\\\\]*@)?';
  const host = '(?:[A-Za-z0-9._~-]+|\\[[0-9A-Fa-f:.]+\\])';
  const scheme = '([Rr][Tt][Mm][Pp][Ss]?|[Ss][Rr][Tt])';
  return `^${scheme}://${user}${host}(?::[0-9]{1,5})?(?:[/?#]${plain}*)?$`;
})();
export const urlSchema = Type.String({
  pattern: urlPattern,
  maxLength: urlLength,
  schemes: ['rtmp', 'rtmps', 'srt'],
  expected: `an rtmp://, rtmps:// or srt:// URL of at most ${urlLength} characters`,
  examples: ['rtmp://live.example.com/app/key'],
});
/** A target as the API shows it. */
export const targetSchema = object(
  {
    id: idSchema,
    name: Type.String({ examples: ['My channel'] }),
    createdAt: momentSchema,
    disabled: Type.Optional(Type.Literal(true)),
  },
  { $id: 'Target' },
);
/** A target that is created with the stream that names it. */
export const specSchema = object({ name: Type.Optional(nameSchema('My channel')), url: urlSchema });

export const kind = 'multistream-target';

/** Targets of one account. Faults: `target.not_found` (404); of changes also `target.busy` (409). */
export function targetsOf({ accountId: account }: Principal, kit: MultistreamKit) {
  const own = plainResources(plainTarget, { account, resources: kit.resources });
  return {
    ...own,
    /** All of them or none. The URLs were checked by `urlProblem`. Faults: `target.too_many` (403). */
    async create(
      specs: readonly (Static<typeof specSchema> & { id?: string; disabled?: boolean })[],
    ): Promise<Target[]> {
      const createdAt = kit.clock.now();
      const targets = specs.map(({ id = uuid(), name, url, disabled = false }) => ({
        ...{
          id,
          account,
          name: name ?? new URL(url).hostname.slice(0, maxNameLength),
          url: sealedUrl(id, { url, kit }),
          disabled,
          createdAt,
        },
      }));
      if (targets.length > 0) {
        await placesOf(kit).admit(account, targets.length);
        await own.create(targets);
      }
      return targets;
    },
    async remove(id: string): Promise<void> {
      await own.remove(id);
      placesOf(kit).gone(account);
    },
  };
}

/** Undefined: it cannot be decrypted. */
export function urlOf({ id, url }: Pick<Target, 'id' | 'url'>, kit: Pick<MultistreamKit, 'use'>) {
  return kit.use(services.secrets).open(url, contextOf(id));
}

export function sealedUrl(
  id: string,
  { url, kit }: { url: string; kit: Pick<MultistreamKit, 'use'> },
): string {
  return kit.use(services.secrets).seal(url, contextOf(id));
}

/** A singleton task: seals what older versions stored. */
export function sealOldUrls(kit: MultistreamKit): () => Promise<void> {
  return sealRows(kind, {
    kit,
    async seal(row) {
      const target = JSON.parse(row.body) as Target;
      if (urlOf(target, kit) !== target.url) return;
      const own = plainResources(plainTarget, { account: row.account, resources: kit.resources });
      const sealed = own.change(row.id, ({ url, ...rest }) => ({
        ...rest,
        // Another request may have written it since.
        url: urlOf({ id: row.id, url }, kit) === url ? sealedUrl(row.id, { url, kit }) : url,
      }));
      await sealed.catch(unlessRefused);
    },
  });
}

function contextOf(targetId: string): string {
  return `${kind}/${targetId}/url`;
}

const plainTarget: PlainResource<Target> = {
  kind,
  notFound: (id) => {
    const message = `There is no multistream target ${idOrNone(id)}.`;
    return new Fault('target.not_found', { status: 404, message });
  },
  busy: (id) => {
    const message = `The multistream target ${id} is changed by other requests at the same time; nothing was changed. Try again.`;
    return new Fault('target.busy', { status: 409, message });
  },
};

const places = new WeakMap<MultistreamKit, Quota>();

/** Targets are created by their route and with streams: both count. */
function placesOf(kit: MultistreamKit): Quota {
  const { maxTargets: most } = kit.config;
  const quotas =
    places.get(kit) ??
    quota({
      clock: kit.clock,
      most,
      count: (account) => kit.resources.count(kind, { account }),
      full: () => tooMany(most),
    });
  places.set(kit, quotas);
  return quotas;
}

/**
 * Why a URL that fits the schema can never be pushed to, or undefined. The URL is a secret: the message does not repeat it.
 * Whether its address may be called is checked when it is called.
 */
export function urlProblem(url: string): string | undefined {
  const read = pushUrl(url);
  return read.ok ? undefined : read.message;
}

function tooMany(most: number): Fault {
  return new Fault('target.too_many', {
    status: 403,
    message: `This account may have at most ${most} multistream targets. Delete some first.`,
  });
}
