import { object, oneOf, optional, Type } from '../../sdk/plugin.ts';
import { present } from './api.ts';
import type { NativeAsset } from './asset.ts';
import { uploadIdOf } from './upload-id.ts';

const anything = Type.Record(Type.String(), Type.Unknown());

export const uploadSchema = object({
  id: Type.String(),
  status: oneOf(['waiting', 'asset_created', 'errored', 'cancelled', 'timed_out']),
  timeout: Type.Integer({ description: 'Seconds.' }),
  cors_origin: Type.String(),
  url: optional.string({ description: 'Only in the answer that created it.' }),
  asset_id: optional.string(),
  error: Type.Optional(object({ type: Type.String(), message: Type.String() })),
  new_asset_settings: Type.Optional(anything),
  test: optional.boolean(),
});

/** Seconds: as long as the URLs of our uploads are good for. */
const timeout = 12 * 3600;

/** A direct upload in the form of Mux. Its asset is ours from the first; clients see its id once the file is there. */
export function presentUpload(
  { id, statusMessage, mux = {} }: Pick<NativeAsset, 'id' | 'statusMessage' | 'mux'>,
  { status, url }: { status: string; url?: string },
): Record<string, unknown> {
  return present({
    id: uploadIdOf(id),
    status,
    timeout,
    cors_origin: mux.upload?.corsOrigin ?? '*',
    url,
    asset_id: status === 'asset_created' ? id : undefined,
    error:
      status === 'errored'
        ? { type: 'invalid_input', message: statusMessage ?? 'The upload failed.' }
        : undefined,
    new_asset_settings: mux.newAssetSettings,
    test: mux.test || undefined,
  });
}
