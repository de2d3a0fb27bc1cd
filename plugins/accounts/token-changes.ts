import { Fault } from '../../core/base/fault.ts';
import { idOrNone } from '../../core/base/secrets.ts';
import { type Access, excessOf } from '../../core/http/access.ts';
import { notAllowed, type Principal } from '../../core/http/auth.ts';
import { type Attempt, shownOnce } from '../../core/http/idempotency.ts';
import type { Call } from '../../core/http/keyed.ts';
import type { Quota } from '../../core/http/quota.ts';
import { deletedRow } from '../../core/plugin/deleted-row.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import type { ApiKeys } from './api-keys.ts';
import {
  documentOf,
  holderIndex,
  holdersOf,
  newKey,
  newRow,
  passedOnRow,
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

/** What a deletion needs. `deleted` is called for each key that goes with the one that was named. */
interface Deletion {
  readonly principal: Principal;
  readonly kit: Kit;
  readonly places: Quota;
  readonly keys: ApiKeys;
  deleted(row: StoredResource): Promise<void>;
}

/**
 * Deletes a key of the account. `isCascade`: and the keys that it made, and those that they made. A repeat goes on where one was cut
 * off. Faults: 404 `api_token.not_found`, 409 `api_token.busy`.
 */
export async function deleteToken(id: string, options: Deletion & { isCascade: boolean }): Promise<void> {
  const { principal, kit, isCascade } = options;
  const row = await kit.resources.get('api-token', id);
  const own = row?.account === principal.accountId ? row : undefined;
  if (!isCascade && own) return removeAlone(own, options);
  const below = isCascade && !row ? await madeBy(id, options) : [];
  if (!own && below.length === 0) throw notFound(id);
  // First the key itself: after that it makes no more.
  if (own) await remove([own], options);
  const makers = [id];
  for (let maker = makers.shift(); maker !== undefined; maker = makers.shift()) {
    for (let made = await madeBy(maker, options); made.length > 0; made = await madeBy(maker, options)) {
      const gone = await remove(made, options);
      await Promise.all(gone.map((one) => options.deleted(one)));
      makers.push(...made.map((one) => one.id));
    }
  }
}

/** Some of the keys that a key made or was passed on. Only the admin account makes keys of other accounts. */
async function madeBy(
  keyId: string,
  { principal, kit }: Pick<Deletion, 'principal' | 'kit'>,
): Promise<StoredResource[]> {
  const account = principal.isAdmin ? {} : { account: principal.accountId };
  for (const where of under(keyId)) {
    const made = await kit.resources.list('api-token', { ...account, where, limit: chunk });
    if (made.length > 0) return made;
  }
  return [];
}

/** Where those stand that a key made, and those that it holds. */
function under(keyId: string): readonly Record<string, string>[] {
  return [{ createdByKeyId: keyId }, { [holderIndex(keyId)]: 'held' }];
}

/** Deletes these keys. Resolves with those that it deleted; others have been deleted meanwhile. */
async function remove(rows: readonly StoredResource[], options: Deletion): Promise<StoredResource[]> {
  const { kit, keys } = options;
  let left = [...rows];
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
  areGone(left, options);
  return left;
}

/** Deletes a key, and leaves those that it made. */
async function removeAlone(row: StoredResource, options: Deletion): Promise<void> {
  const { kit, keys } = options;
  let left: StoredResource | undefined = row;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    if (!left) throw notFound(row.id);
    if (await passOn(left, kit)) {
      const written = await kit.resources
        .write({ rows: [deletedRow('api-token', left)], events: [] })
        .finally(() => keys.forget());
      if (written === 'ok') return areGone([left], options);
    }
    left = await kit.resources.get('api-token', row.id);
  }
  throw busy(row.id);
}

/**
 * Passes what a key made on to those above it: otherwise whoever has a stolen key could make one by way of another, delete that, and
 * keep it when the stolen one is deleted with all that came of it. False: somebody else wrote at the same time.
 */
async function passOn(row: StoredResource, { resources }: Kit): Promise<boolean> {
  const document = documentOf(row);
  if (holdersOf(document).length === 0) return true;
  for (const where of under(row.id)) {
    for await (const page of rowPages('api-token', { where, page: chunk, resources })) {
      const rows = page.flatMap((one) => passedOnRow(one, document) ?? []);
      if (rows.length > 0 && (await resources.write({ rows, events: [] })) !== 'ok') return false;
    }
  }
  return true;
}

function areGone(rows: readonly StoredResource[], { places, keys }: Deletion): void {
  for (const { id, account } of rows) {
    places.gone(account);
    keys.revoked(id);
  }
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
