import { token } from '../../../core/plugin/token.ts';
import type { TusUploads } from '../tus/uploads.ts';
import type { UploadTries } from './tries.ts';

/** What the upload routes of one process share: the upload slots, and its tus uploads. */
export interface Uploading {
  readonly tries: UploadTries;
  readonly tus: TusUploads;
}

export const uploading = token<Uploading>('uploading');
