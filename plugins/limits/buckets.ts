import { Bucket, type Rate } from './bucket.ts';

/** Buckets of clients, of a bounded number: those that were not used for longest are forgotten, and are full when they come back. */
export class Buckets {
  readonly #most: number;
  /** Used since the last change of generation, and before. */
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();

  /** @param options.most buckets that are remembered */
  constructor({ most }: { most: number }) {
    this.#most = most;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  of(client: string, { rate, now }: { rate: Rate; now: number }): Bucket {
    const known = this.#young.get(client);
    if (known) return known;
    const bucket = this.#old.get(client) ?? new Bucket(rate, now);
    this.#old.delete(client);
    if (this.#young.size * 2 >= this.#most) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(client, bucket);
    return bucket;
  }
}
