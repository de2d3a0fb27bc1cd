import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileNames, type RecordingMeta, writeWhole } from '../meta.ts';

/** Fields that change; null removes one. */
export type MetaChange = { [Name in keyof RecordingMeta]?: RecordingMeta[Name] | null };

/** The `take.json` of one recording file: its content, and whether the disk has all of it. */
export class MetaFile {
  readonly #folder: string;
  #meta: RecordingMeta;
  #isMade: boolean;
  #mustSave = false;
  #saved: Promise<void> = Promise.resolve();

  constructor(folder: string, options: { meta: RecordingMeta; isMade: boolean }) {
    this.#folder = folder;
    this.#meta = options.meta;
    this.#isMade = options.isMade;
  }

  get meta(): RecordingMeta {
    return this.#meta;
  }

  /** The file exists, and so does the folder. */
  get isMade(): boolean {
    return this.#isMade;
  }

  /** The disk may have an older one. */
  get mustSave(): boolean {
    return this.#mustSave;
  }

  /** Comes to the disk with the next `save`. */
  addGap(): void {
    this.#meta = { ...this.#meta, gaps: this.#meta.gaps + 1 };
    this.#mustSave = true;
  }

  /** Makes the folder and the file. Throws what the disk says. */
  make(): void {
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, fileNames.meta);
    writeFileSync(`${path}.new`, JSON.stringify(this.#meta), { mode: 0o640 });
    renameSync(`${path}.new`, path);
    this.#isMade = true;
    this.#mustSave = true;
  }

  /** On disk when it resolves. */
  save(change: MetaChange): Promise<void> {
    const changed = Object.entries({ ...this.#meta, ...change }).filter(([, value]) => value !== null);
    this.#meta = Object.fromEntries(changed) as unknown as RecordingMeta;
    this.#mustSave = false;
    const saved = this.settled().then(() =>
      writeWhole(this.#folder, { name: fileNames.meta, bytes: Buffer.from(JSON.stringify(this.#meta)) }),
    );
    this.#saved = saved.catch((error: unknown) => {
      this.#mustSave = true;
      throw error;
    });
    return this.#saved;
  }

  /** Resolves when nothing is being written, successful or not. */
  settled(): Promise<void> {
    return this.#saved.catch(() => {});
  }
}
