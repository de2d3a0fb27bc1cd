/** A server that is measured. */
export interface Subject {
  readonly name: string;
  readonly pid: number;
  /** Where to publish, one for each stream. */
  readonly ingestUrls: readonly string[];
  /** Where each of them can be watched; empty when it cannot. */
  readonly playlistUrls: readonly string[];
  /** Bytes of media it keeps outside its own memory. */
  storedBytes(): number;
  /** Bytes of its recordings on disk; 0 when it records nothing. */
  recordedBytes(): number;
  stop(): Promise<void>;
}

/** Asks `probe` every `every` ms until it answers true; an error after `within` ms. A probe that throws means no. */
export async function until(
  what: string,
  probe: () => Promise<boolean> | boolean,
  options: { within: number; every: number },
): Promise<void> {
  const deadline = performance.now() + options.within;
  while (
    !(await Promise.resolve()
      .then(probe)
      .catch(() => false))
  ) {
    if (performance.now() > deadline) throw new Error(`waited ${options.within} ms for ${what}`);
    await Bun.sleep(options.every);
  }
}
