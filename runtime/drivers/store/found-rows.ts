import type { StoredResource } from '../../../core/ports/store.ts';

/** Rows of a page, until there are enough of them, or their documents have more characters than a page is to have. */
export class FoundRows {
  readonly rows: StoredResource[] = [];
  readonly #limit: number;
  #left: number;

  constructor({ limit, characters }: { limit: number; characters: number }) {
    this.#limit = limit;
    this.#left = characters;
  }

  get isFull(): boolean {
    return this.rows.length === this.#limit || this.#left < 0;
  }

  add(rows: readonly StoredResource[]): void {
    for (const row of rows) {
      if (this.isFull) return;
      this.rows.push(row);
      this.#left -= row.body.length;
    }
  }
}
