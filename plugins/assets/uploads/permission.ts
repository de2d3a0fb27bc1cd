import { accountLimitsOf } from '../../../core/http/account-limits.ts';
import { type UploadQuestion, undecided } from '../../../core/plugin/decide.ts';
import type { VideoSpec } from '../../../core/ports/recorder.ts';
import { type AssetDocument, assetOf, assetRow } from '../asset/document.ts';
import type { AssetsKit } from '../config.ts';
import { uploadFault } from './faults.ts';

/**
 * Whether the file fits into the storage of the account, and what plugins that decide about uploads say. A complete file is counted.
 * Faults `account.limit` (409), `upload.not_allowed` (403) with the reason of the plugin, `decision.unavailable` (503).
 */
export async function checkPermission(question: UploadQuestion, kit: AssetsKit): Promise<void> {
  const { account, assetId: asset, stage, size = 1 } = question;
  await accountLimitsOf(kit)?.store(account, { bytes: size, isTaken: stage === 'inspected' });
  const refusal = await kit.decide.upload?.(question);
  if (!refusal) return;
  if (refusal.isFailure) throw undecided();
  kit.log.info('a plugin refused an upload', { asset, stage, by: refusal.plugin, reason: refusal.reason });
  throw uploadFault('upload.not_allowed', refusal.reason, { retry: false });
}

/** The same for the file of an asset that is complete. */
export async function checkInspected(
  assetId: string,
  { size, spec, kit }: { readonly size: number; readonly spec: VideoSpec; readonly kit: AssetsKit },
): Promise<void> {
  const document = await documentOf(assetId, kit);
  if (!document) return;
  const { account, name, source } = document;
  if (source.type === 'recording') return;
  await checkPermission({ stage: 'inspected', account, assetId, name, source, size, spec }, kit);
}

/** Counts the conversion of a film of so many seconds, and says whose it is. Fault `account.limit` (409). */
export async function countConversion(
  assetId: string,
  { seconds, kit }: { readonly seconds: number; readonly kit: AssetsKit },
): Promise<string> {
  const document = await documentOf(assetId, kit);
  if (!document) return '';
  await accountLimitsOf(kit)?.encode(document.account, seconds);
  return document.account;
}

/** The most bytes that may be received for an account, and the fault for more. */
export interface ReceiveBound {
  readonly most: number;
  /** What is thrown in the place of `error`, which says that more than `most` came. */
  instead(error: unknown): Promise<unknown>;
}

/** `most` of the deployment, or what still fits into the storage of the account: a file is cut off there while it comes. */
export async function receiveBound(
  account: string,
  { most, kit }: { readonly most: number; readonly kit: AssetsKit },
): Promise<ReceiveBound> {
  const limits = accountLimitsOf(kit);
  const room = (await limits?.room(account)) ?? Number.POSITIVE_INFINITY;
  if (!limits || room >= most) return { most, instead: async (error) => error };
  const fits = () => limits.store(account, { bytes: room + 1, isTaken: false });
  return { most: room, instead: (error) => fits().then(() => error, unchanged) };
}

function unchanged(fault: unknown): unknown {
  return fault;
}

/** Undefined when it was deleted meanwhile: the file gets no asset. */
async function documentOf(assetId: string, kit: AssetsKit): Promise<AssetDocument | undefined> {
  const row = await assetRow(assetId, kit);
  return row && assetOf(row);
}
