import { type UploadQuestion, undecided } from '../../../core/plugin/decide.ts';
import type { VideoSpec } from '../../../core/ports/recorder.ts';
import { assetOf, assetRow } from '../asset/document.ts';
import type { AssetsKit } from '../config.ts';
import { uploadFault } from './faults.ts';

/** Asks the plugins that decide about uploads. Faults `upload.not_allowed` (403) with their reason, `decision.unavailable` (503). */
export async function checkPermission(question: UploadQuestion, kit: AssetsKit): Promise<void> {
  const refusal = await kit.decide.upload?.(question);
  if (!refusal) return;
  if (refusal.isFailure) throw undecided();
  const { assetId: asset, stage } = question;
  kit.log.info('a plugin refused an upload', { asset, stage, by: refusal.plugin, reason: refusal.reason });
  throw uploadFault('upload.not_allowed', refusal.reason, { retry: false });
}

/** The same for the file of an asset that is complete. */
export async function checkInspected(
  assetId: string,
  { size, spec, kit }: { readonly size: number; readonly spec: VideoSpec; readonly kit: AssetsKit },
): Promise<void> {
  if (!kit.decide.upload) return;
  const row = await assetRow(assetId, kit);
  // Deleted meanwhile: the file gets no asset.
  if (!row) return;
  const { account, name, source } = assetOf(row);
  if (source.type === 'recording') return;
  await checkPermission({ stage: 'inspected', account, assetId, name, source, size, spec }, kit);
}
