import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { metaBytes, spoolFiles, type TakeMeta, writeWhole } from './take-meta.ts';

/** Fields of it that change; null takes one away. */
export type MetaChange = { [Name in keyof TakeMeta]?: TakeMeta[Name] | null };

/** The `take.json` of one spool: what it says, and what of that the disk does not have yet. */
export class TakeJson {
  readonly #folder: string;
  readonly #most: number;
  #meta: TakeMeta;
  #isMade: boolean;
  #mustSave = false;
  #saved: Promise<void> = Promise.resolve();

  /** @param options.most bytes that it may have */
  constructor(folder: string, options: { meta: TakeMeta; isMade: boolean; most: number }) {
    this.#folder = folder;
    this.#meta = options.meta;
    this.#isMade = options.isMade;
    this.#most = options.most;
  }

  get meta(): TakeMeta {
    return this.#meta;
  }

  /** There is a file, and so a folder. */
  get isMade(): boolean {
    return this.#isMade;
  }

  /** The disk has another one, or is not known to have this. */
  get mustSave(): boolean {
    return this.#mustSave;
  }

  /** Another gap. It comes to the disk with the next `save`. */
  addGap(): void {
    this.#meta = { ...this.#meta, gaps: this.#meta.gaps + 1 };
    this.#mustSave = true;
  }

  /** The folder with the file in it. Throws what the disk says. */
  make(): void {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, spoolFiles.meta);
    writeFileSync(`${path}.new`, this.#bytesOf(this.#meta), { mode: 0o640 });
    renameSync(`${path}.new`, path);
    this.#isMade = true;
    this.#mustSave = true;
  }

  /** On disk when it resolves. */
  async save(change: MetaChange): Promise<void> {
    const meta: Record<string, unknown> = { ...this.#meta, ...change };
    for (const name of Object.keys(meta)) if (meta[name] === null) delete meta[name];
    const changed = meta as unknown as TakeMeta;
    // What is too large changes nothing.
    this.#bytesOf(changed);
    this.#meta = changed;
    this.#mustSave = false;
    const saved = this.#saved
      .catch(() => {})
      .then(() => writeWhole(this.#folder, { name: spoolFiles.meta, bytes: this.#bytesOf(this.#meta) }));
    this.#saved = saved.catch((error: unknown) => {
      this.#mustSave = true;
      throw error;
    });
    return this.#saved;
  }

  /** Resolves when nothing is being written, whether that went well or not. */
  async settled(): Promise<void> {
    await this.#saved.catch(() => {});
  }

  #bytesOf(meta: TakeMeta): Uint8Array {
    return metaBytes(meta, { most: this.#most });
  }
}
