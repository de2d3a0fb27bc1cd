import { Fault } from '../../core/base/fault.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { type Access, excessOf } from '../../core/http/access.ts';
import { notAllowed, type Principal } from '../../core/http/auth.ts';
import { type Attempt, shownOnce } from '../../core/http/idempotency.ts';
import type { Call } from '../../core/http/keyed.ts';
import type { Quota } from '../../core/http/quota.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import type { ApiKeys } from './api-keys.ts';
import {
  deletedRow,
  newKey,
  newRow,
  presentToken,
  type TokenDocument,
  touchedRow,
} from './token-document.ts';
import type { Turns } from './turns.ts';

/** What a client says of a new key, checked against the schema. */
export interface TokenBody {
  readonly name?: string;
  readonly access?: Access;
  readonly accountId?: string;
  readonly expiresAt?: number;
}

/** How often a write is tried. Each time another request changed a row first. */
const attempts = 10;
/** Keys deleted in one write. */
const chunk = 200;

/** The new key with its secret, as the API shows it once. */
export async function createToken(
  body: TokenBody,
  options: { call: Call & Attempt; kit: Kit; places: Quota; byMaker: Turns },
): Promise<Record<string, unknown>> {
  const { call, kit, places, byMaker } = options;
  const { principal: maker, id, isRepeat } = call;
  const expiresAt = expiryFor(maker, { asked: body.expiresAt, now: kit.clock.now() });
  const document: TokenDocument = {
    id,
    account: await accountFor(maker, { accountId: body.accountId, kit }),
    name: body.name ?? 'API key',
    access: accessFor(maker, body.access),
    createdAt: kit.clock.now(),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(maker.keyId !== undefined && { createdByKeyId: maker.keyId }),
  };
  if (isRepeat && (await kit.resources.get('api-token', id))) throw shownOnce(id);
  await places.admit(document.account);
  const key = newKey();
  // Each writes the row of the maker: side by side all but one would have to try again.
  await byMaker.run(maker.keyId ?? id, () => writeNew(document, { key, kit }));
  return { ...presentToken(document), key };
}

/**
 * Writes a key together with the row of its maker: a maker that is being deleted makes none, so that deleting it with its children
 * leaves none behind. Faults: 401 `auth.invalid`, 409 `idempotency.shown_once`.
 */
async function writeNew(document: TokenDocument, { key, kit }: { key: string; kit: Kit }): Promise<void> {
  const { id, createdByKeyId: makerId } = document;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const maker = makerId === undefined ? undefined : await kit.resources.get('api-token', makerId);
    if (makerId !== undefined && !maker) throw makerIsGone();
    const guard = maker && touchedRow(maker);
    const rows = [newRow(document, key), ...(guard ? [guard] : [])];
    if ((await kit.resources.write({ rows, events: [] })) === 'ok') return;
    // An earlier attempt has created it; its secret was in that answer.
    if (await kit.resources.get('api-token', id)) throw shownOnce(id);
  }
  throw busy(makerId ?? id);
}

/**
 * Deletes a key of the account. `isCascade`: and the keys that it made, and those that they made. A repeat goes on where one was cut
 * off. Faults: 404 `api_token.not_found`, 409 `api_token.busy`.
 */
export async function deleteToken(
  id: string,
  options: { principal: Principal; kit: Kit; places: Quota; keys: ApiKeys; isCascade: boolean },
): Promise<void> {
  const { principal, kit, isCascade } = options;
  const row = await kit.resources.get('api-token', id);
  const own = row?.account === principal.accountId ? row : undefined;
  if (row && !own) throw notFound(id);
  const below = isCascade ? await madeBy(id, { principal, kit }) : [];
  if (!own && below.length === 0) throw notFound(id);
  // First the key itself: after that it makes no more.
  if (own && (await remove([own], options)) === 0 && !isCascade) throw notFound(id);
  if (!isCascade) return;
  const makers = [id];
  for (let maker = makers.shift(); maker !== undefined; maker = makers.shift()) {
    for (let made = await madeBy(maker, options); made.length > 0; made = await madeBy(maker, options)) {
      await remove(made, options);
      makers.push(...made.map((one) => one.id));
    }
  }
}

/** Some of the keys that a key made. Only the admin account makes keys of other accounts. */
async function madeBy(
  createdByKeyId: string,
  { principal, kit }: { principal: Principal; kit: Kit },
): Promise<StoredResource[]> {
  const account = principal.isAdmin ? {} : { account: principal.accountId };
  return kit.resources.list('api-token', { ...account, where: { createdByKeyId }, limit: chunk });
}

/** Deletes these keys. Resolves with how many of them; others have been deleted meanwhile. */
async function remove(
  rows: readonly StoredResource[],
  { kit, places, keys }: { kit: Kit; places: Quota; keys: ApiKeys },
): Promise<number> {
  let left = rows;
  for (let attempt = 0; left.length > 0; attempt += 1) {
    if (attempt === attempts) throw busy(left[0]?.id ?? '');
    const written = await kit.resources
      .write({ rows: left.map((row) => deletedRow('api-token', row)), events: [] })
      // Also forgotten when the outcome of the write is unknown.
      .finally(() => keys.forget());
    if (written === 'ok') break;
    const again = await Promise.all(left.map(({ id }) => kit.resources.get('api-token', id)));
    left = again.filter((row) => row !== undefined);
  }
  for (const { id, account } of left) {
    places.gone(account);
    keys.revoked(id);
  }
  return left.length;
}

/** A key lives no longer than the one that made it. */
export function expiryFor(
  maker: Pick<Principal, 'expiresAt'>,
  { asked, now }: { asked: number | undefined; now: number },
): number | undefined {
  if (asked === undefined) return maker.expiresAt;
  if (asked <= now) {
    const message = `expiresAt: expected a moment in the future, in epoch milliseconds (now: ${now})`;
    throw new Fault('body.invalid', { status: 422, message });
  }
  if (maker.expiresAt !== undefined && asked > maker.expiresAt)
    throw notAllowed(`it expires at ${maker.expiresAt}, and cannot make a key that expires later`);
  return asked;
}

async function accountFor(
  maker: Principal,
  options: { accountId: string | undefined; kit: Kit },
): Promise<string> {
  const { accountId, kit } = options;
  if (accountId === undefined) return maker.accountId;
  if (!maker.isAdmin) throw notAllowed('accountId is only for keys of the admin account');
  if (await kit.resources.get('account', accountId)) return accountId;
  throw new Fault('account.unknown', {
    status: 400,
    message: `accountId: there is no account ${idOrNone(accountId)}.`,
  });
}

function accessFor(maker: Principal, asked: Access | undefined): Access {
  if (asked === undefined) return maker.access;
  const excess = excessOf(asked, maker.access);
  if (excess !== undefined) throw notAllowed(`it cannot grant access that it does not have: ${excess}`);
  return asked;
}

/** Fault `api_token.not_found` (404). */
export function notFound(id: string): Fault {
  return new Fault('api_token.not_found', { status: 404, message: `There is no API key ${idOrNone(id)}.` });
}

function busy(id: string): Fault {
  const message = `API key ${idOrNone(id)} is being changed by other requests. Try again.`;
  return new Fault('api_token.busy', { status: 409, message });
}

function makerIsGone(): Fault {
  return new Fault('auth.invalid', { status: 401, message: 'This API key was deleted meanwhile.' });
}
