import type { Blobs } from '../../../core/ports/blobs.ts';

/** A driver to be tested, open. Others may use the same place, so every check keeps to its own folder. */
export interface OpenedBlobs {
  readonly blobs: Blobs;
  /** A folder that nobody else uses, with its slash: `t/<uuid>/`. */
  readonly folder: string;
  /** A second one on the same data: another process, or this one after a restart. Closed by the test. */
  another(): Promise<Blobs>;
}

/** One promise of the port. A list instead of bare tests, so that a test can show that a broken driver fails. */
export interface BlobCheck {
  readonly name: string;
  run(opened: OpenedBlobs): Promise<void>;
}
