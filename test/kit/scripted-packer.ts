import { Fault } from '../../core/base/fault.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { Packer } from '../../core/ports/packer.ts';
import { packFile } from '../../runtime/drivers/packer/pack-file.ts';

/** Packs at once and in memory, without a thread; the CARs and CIDs are real. */
export function scriptedPacker(blobs: Blobs): Packer {
  return {
    async open() {},
    async pack(source, { folder, profile, signal, progress }) {
      signal.throwIfAborted();
      const found = 'bytes' in source ? undefined : await blobs.get(source.key);
      if (found && found.outcome !== 'ok')
        throw new Fault('packing.changed', { status: 409, message: 'The file was deleted.' });
      const bytes = 'bytes' in source ? source.bytes : await new Response(found?.body).bytes();
      const pieces: Uint8Array[] = [];
      const sink = {
        append: (piece: Uint8Array) => void pieces.push(piece.slice()),
        overwrite(piece: Uint8Array) {
          pieces[0] = piece;
        },
      };
      const content = (async function* () {
        yield bytes;
      })();
      const { cid, name, places } = await packFile(content, { profile, sink });
      signal.throwIfAborted();
      const car = Buffer.concat(pieces);
      const key = `${folder}${name}.car`;
      await blobs.put(key, car, { ifAbsent: true });
      progress?.(1);
      return { cid, key, size: car.length, places };
    },
    close: async () => {},
  };
}
