import type { Blobs } from '../../../core/ports/blobs.ts';
import { testFolder } from './fixtures.ts';
import { blobChecks, partChecks } from './suite.ts';

/** A promise of the port, for any test runner: `test(name, run)`. */
export interface ConformanceCheck {
  readonly name: string;
  /** Takes up to 30 s with a slow store. */
  run(): Promise<void>;
}

/**
 * What every driver for blobs must do. Give each check to your test runner; a check that fails throws.
 *
 * @param make returns a new driver on the same data each time. The checks open and close it, and use folders of their own
 * @param options.adopting that of the driver: one that copies also takes uploads in parts
 */
export function blobsConformance(
  make: () => Blobs | Promise<Blobs>,
  { adopting }: Pick<Blobs, 'adopting'>,
): readonly ConformanceCheck[] {
  const another = async () => {
    const blobs = await make();
    await blobs.open();
    return blobs;
  };
  const checks = adopting === 'copy' ? [...blobChecks, ...partChecks] : blobChecks;
  return checks.map(({ name, run }) => ({
    name,
    async run() {
      const blobs = await another();
      try {
        await run({ blobs, folder: testFolder(), another });
      } finally {
        await blobs.close();
      }
    },
  }));
}
