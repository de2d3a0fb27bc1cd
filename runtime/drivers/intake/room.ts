import { type DiskLook, diskReason } from '../../base/disk.ts';
import { noRoom, unavailable } from './writer.ts';

/**
 * Reserves disk space for files before they arrive, first come, first served. A file is written to the upload folder and then moved
 * to the blobs. On the same disk that needs no more space; on another disk it needs the whole size again.
 */
export class Room {
  readonly #spool: string;
  readonly #store: string | undefined;
  readonly #reserve: number;
  readonly #look: DiskLook;
  readonly #claims = new Set<Claim>();

  /** @param options.reserve bytes of each disk that must stay free */
  constructor(options: { spool: string; store?: string | undefined; reserve: number; look: DiskLook }) {
    this.#spool = options.spool;
    this.#store = options.store;
    this.#reserve = options.reserve;
    this.#look = options.look;
  }

  /** Fault `intake.full` if there is no room for so many bytes. Reserves nothing. */
  async check(bytes: number): Promise<void> {
    (await this.claim(bytes)).release();
  }

  /** Reserves room for a file, of which `before` bytes are on disk already. Fault `intake.full`. */
  async claim(bytes: number, { before = 0 }: { before?: number } = {}): Promise<Claim> {
    const wanted = { toWrite: bytes, size: before + bytes };
    const claim: Claim = { ...wanted, release: () => void this.#claims.delete(claim) };
    await this.#admit(claim, wanted);
    return claim;
  }

  /** Reserves more room, or checks it again, because others may have filled the disk. Fault `intake.full`. */
  async extend(claim: Claim, wanted: Wanted): Promise<void> {
    await this.#admit(claim, wanted);
  }

  async #admit(claim: Claim, { toWrite, size }: Wanted): Promise<void> {
    const [spool, store] = await Promise.all([this.#looked(this.#spool), this.#looked(this.#store)]);
    // No await below: nobody else can reserve meanwhile.
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
  /** Bytes that are not written yet. */
  readonly toWrite: number;
  /** Bytes of the whole file. */
  readonly size: number;
}

/** Reserved room, until it is released. The writer updates `toWrite`. */
export interface Claim extends Wanted {
  toWrite: number;
  size: number;
  release(): void;
}
