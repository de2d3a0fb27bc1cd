import { join } from 'node:path';
import type { DiskPlace } from './disk-watch.ts';

/** Where this node writes, and how much each leaves free. `blobs`: only where they are in a directory. */
export function diskPlaces(settings: {
  readonly dataDir: string;
  /** MiB. */
  readonly recording: { readonly reserve: number };
  readonly uploads: { readonly reserve?: number };
  readonly drivers: { readonly blobs: 'fs' | 's3' };
}): Record<'data' | 'recordings' | 'uploads', DiskPlace> & { readonly blobs?: DiskPlace } {
  const { dataDir, recording, uploads, drivers } = settings;
  const least = recording.reserve * 1_048_576;
  const reserve = uploads.reserve === undefined ? 2 * least : uploads.reserve * 1_048_576;
  const blobs = { folder: join(dataDir, 'blobs'), reserve, beyond: 'uploads and imports are refused' };
  return {
    data: { folder: dataDir, reserve: least, beyond: 'soon nothing can be changed any more' },
    recordings: { folder: join(dataDir, 'recordings'), reserve: least, beyond: 'nothing is recorded' },
    uploads: { folder: join(dataDir, 'uploads'), reserve, beyond: 'uploads and imports are refused' },
    ...(drivers.blobs === 'fs' && { blobs }),
  };
}
