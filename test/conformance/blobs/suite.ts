import type { BlobCheck } from './check.ts';
import { putChecks } from './put-checks.ts';
import { readChecks } from './read-checks.ts';
import { sequenceChecks } from './sequence-checks.ts';
import { uploadChecks } from './upload-checks.ts';

/** What every driver of the port must do. */
export const blobChecks: readonly BlobCheck[] = [...putChecks, ...readChecks, ...sequenceChecks];

/** And one that copies what it adopts. */
export const partChecks: readonly BlobCheck[] = uploadChecks;
