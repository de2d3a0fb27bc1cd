import { token } from '../../../core/plugin/token.ts';
import type { TusUploads } from '../tus/uploads.ts';
import type { UploadTries } from './tries.ts';

/** What the routes of one process share: its places are counted once, and a tus upload is one. */
export interface Uploading {
  readonly tries: UploadTries;
  readonly tus: TusUploads;
}

export const uploading = token<Uploading>('uploading');
