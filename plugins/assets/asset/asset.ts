import type { ActorType } from '../../../core/plugin/actor.ts';
import { effect, type StepKit } from '../../../core/plugin/plugin.ts';
import { assetMachine, type Erasure } from '../../../machines/asset.ts';
import type { config } from '../config.ts';
import { assetResource } from '../contract.ts';
import { type AssetDocument, assetKind, blobPages, documentOf, folderOf } from './document.ts';
import { presentAsset } from './present.ts';

/** One per asset. Its id is the asset's id. */
export const asset: ActorType<typeof assetMachine, StepKit<typeof config>> = {
  type: 'asset',
  machine: assetMachine,
  version: 1,
  get kinds() {
    return { [assetKind]: 'own' } as const;
  },
  rows(context, state) {
    const { id, account, createdAt, name, playbackId, source } = context.asset;
    const row = { kind: assetKind, id, account, createdAt, name };
    const status = statusOf(state);
    if (status === undefined) return [{ ...row, body: null, indexes: {} }];
    const indexes = { playbackId, status, ...('sessionId' in source && { sessionId: source.sessionId }) };
    return [{ ...row, body: JSON.stringify(documentOf(context, status)), indexes }];
  },
  describe(_emitted, context, { tools: { publicUrl, fields } }) {
    // The event of a deleted asset shows its last state.
    const status = context.file ? 'ready' : context.statusMessage === null ? 'waiting' : 'failed';
    const shown = presentAsset(documentOf(context, status), {
      baseUrl: publicUrl,
      fields: fields(assetResource),
    });
    return { account: context.asset.account, stream: '', body: { payload: { asset: shown } } };
  },
};

/** Undefined for a deleted asset. */
function statusOf(state: unknown): AssetDocument['status'] | undefined {
  return (state as { kept?: AssetDocument['status'] }).kept;
}

/** Deletes all blobs in the folder of a deleted asset. */
export const eraseEffect = effect<Erasure, null, typeof config>({
  concurrency: 4,
  timeout: 5 * 60_000,
  async run({ input: { id }, signal }, { blobs, log }) {
    let count = 0;
    for await (const page of blobPages(folderOf(id), { blobs, signal })) {
      if (page.length > 0) await blobs.delete(page.map(({ key }) => key));
      count += page.length;
    }
    // After a crash an empty folder may remain, which no listing shows. Deleting any key in it also removes the folder.
    await blobs.delete([`${folderOf(id)}none.bin`]);
    log.info('the file of a deleted asset was erased', { asset: id, blobs: count });
    return null;
  },
});
