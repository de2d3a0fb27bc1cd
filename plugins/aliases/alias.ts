import {
  assetResource,
  Fault,
  type Kit,
  momentSchema,
  object,
  plainResources,
  type StoredResource,
  stream,
  Type,
} from '../../sdk/plugin.ts';

export const aliasKind = 'alias';

/** What is stored of an alias; its id is the alias itself, which is that of one account in the whole deployment. */
export interface Alias {
  readonly id: string;
  readonly account: string;
  readonly name: string;
  readonly playbackId: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Ids of other platforms have up to some 50 characters. */
export const aliasSchema = Type.String({
  minLength: 8,
  maxLength: 128,
  pattern: '^[A-Za-z0-9_-]{8,128}$',
  expected: '8 to 128 letters, digits, _ and -',
  description: 'The other id.',
  examples: ['uNbxnGLKJ00yfbijDO8COxTOyVKT01xpxW'],
});

export const targetSchema = Type.String({
  maxLength: 100,
  pattern: '^[0-9a-z]{16}$',
  expected: 'the playback id of a stream or asset',
  description: 'Playback id of the stream or asset that it stands for.',
  examples: ['6pukxh2m0ydr9h3q'],
});

export const shownSchema = object(
  { alias: aliasSchema, playbackId: targetSchema, createdAt: momentSchema },
  { $id: 'Alias' },
);

export function documentOf(row: StoredResource): Alias {
  return JSON.parse(row.body) as Alias;
}

export function present({ id: alias, playbackId, createdAt }: Alias) {
  return { alias, playbackId, createdAt };
}

/** Aliases of one account. Faults: `alias.not_found` (404), `alias.busy` (409). */
export function aliasesOf(account: string, { resources }: Pick<Kit, 'resources'>) {
  const notFound = () =>
    new Fault('alias.not_found', { status: 404, message: 'There is no such alias in your account.' });
  const busy = () =>
    new Fault('alias.busy', { status: 409, message: 'Others change this alias. Try again.' });
  const indexes = ({ playbackId }: Alias) => ({ playbackId });
  return plainResources<Alias>({ kind: aliasKind, indexes, notFound, busy }, { account, resources });
}

const kinds = [stream.kind, assetResource.kind];

/** Whether the account has a stream or asset with this playback id. */
export async function isOwn(
  playbackId: string,
  { account, kit }: { account: string; kit: Pick<Kit, 'resources'> },
): Promise<boolean> {
  const rows = await Promise.all(kinds.map((kind) => kit.resources.find(kind, 'playbackId', playbackId)));
  return rows.some((row) => row?.account === account);
}

/** Whether a stream, session or asset of whatever account has this id or playback id: it would be played in place of the alias. */
export async function isKnown(id: string, kit: Pick<Kit, 'resources'>): Promise<boolean> {
  const rows = await Promise.all(
    kinds.flatMap((kind) => [kit.resources.get(kind, id), kit.resources.find(kind, 'playbackId', id)]),
  );
  return rows.some((row) => row !== undefined);
}
