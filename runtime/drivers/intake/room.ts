import { type DiskLook, diskReason } from '../../base/disk.ts';
import { noRoom, unavailable } from './writer.ts';

/**
 * Room on disk for files that come, promised before they come: what one was promised is not there for another. Who asks first
 * gets it. A file is written to the spool and then given to the store, which on the same disk takes nothing more; a store on
 * a disk of its own needs room for all of it again.
 */
export class Room {
  readonly #spool: string;
  readonly #store: string | undefined;
  readonly #reserve: number;
  readonly #look: DiskLook;
  readonly #claims = new Set<Claim>();

  /** @param options.reserve bytes of each disk that are not for files that come */
  constructor(options: { spool: string; store?: string | undefined; reserve: number; look: DiskLook }) {
    this.#spool = options.spool;
    this.#store = options.store;
    this.#reserve = options.reserve;
    this.#look = options.look;
  }

  /** Fault `intake.full` when there is no room for so many bytes more. Nothing is promised. */
  async check(bytes: number): Promise<void> {
    (await this.claim(bytes)).release();
  }

  /** Promises room for so many bytes of a file of which `before` lie in the spool already. Fault `intake.full`. */
  async claim(bytes: number, { before = 0 }: { before?: number } = {}): Promise<Claim> {
    const wanted = { toWrite: bytes, size: before + bytes };
    const claim: Claim = { ...wanted, release: () => void this.#claims.delete(claim) };
    await this.#admit(claim, wanted);
    return claim;
  }

  /** Promises it room for more, or what it has once more: others may have filled the disk. Fault `intake.full`. */
  async extend(claim: Claim, wanted: Wanted): Promise<void> {
    await this.#admit(claim, wanted);
  }

  async #admit(claim: Claim, { toWrite, size }: Wanted): Promise<void> {
    const [spool, store] = await Promise.all([this.#looked(this.#spool), this.#looked(this.#store)]);
    // From here on nobody else has a turn.
    this.#claims.delete(claim);
    const others = [...this.#claims];
    const sum = (of: (one: Wanted) => number) => others.reduce((total, one) => total + of(one), 0);
    const isRoom =
      spool !== undefined &&
      spool.free - sum((one) => one.toWrite) - toWrite >= this.#reserve &&
      (store === undefined ||
        store.device === spool.device ||
        store.free - sum((one) => one.size) - size >= this.#reserve);
    if (!isRoom) throw noRoom();
    Object.assign(claim, { toWrite, size });
    this.#claims.add(claim);
  }

  async #looked(folder: string | undefined) {
    if (folder === undefined) return undefined;
    return this.#look(folder).catch((error: Error) => {
      throw unavailable(diskReason(error), error);
    });
  }
}

interface Wanted {
  /** Bytes that are still to be written to the spool. */
  readonly toWrite: number;
  /** Bytes of the whole file. */
  readonly size: number;
}

/** Room that was promised, until it is released. `toWrite` is kept up to date by whoever writes. */
export interface Claim extends Wanted {
  toWrite: number;
  size: number;
  release(): void;
}
