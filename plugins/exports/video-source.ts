import { Fault } from '../../core/base/fault.ts';
import type { OutboundSource } from '../../core/ports/outbound.ts';
import type { AssetFile } from '../assets/contract.ts';
import type { TaskWork } from '../tasks/contract.ts';
import type { ExportsKit } from './kit.ts';

/** The file of an asset as the body of a request, which may be sent several times. Disposing ends what still reads. */
export interface VideoSource extends Disposable {
  readonly body: OutboundSource;
  /** Of the request: tells the task's progress. */
  readonly onSent: (bytes: number) => void;
  /** All of it was handed to the connection that was answered. */
  readonly isSent: boolean;
  /** Why it could not be read, if it could not: the request tells no more than that. */
  readonly trouble: unknown;
}

export function videoSource(
  video: AssetFile['video'],
  { work, kit }: { readonly work: TaskWork; readonly kit: Pick<ExportsKit, 'blobs'> },
): VideoSource {
  const { key, size } = video;
  const reading = new AbortController();
  const signal = AbortSignal.any([work.signal, reading.signal]);
  let sent = 0;
  let trouble: unknown;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    sent = 0;
    try {
      const found = await kit.blobs.get(key, { signal });
      if (found.outcome !== 'ok' || found.blob.size !== size) throw changed(found.outcome);
      const reader = found.body.getReader();
      try {
        for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
      } finally {
        await reader.cancel().catch(() => {});
      }
    } catch (error) {
      trouble = error;
      throw error;
    }
  }

  return {
    body: { length: size, chunks, canRepeat: true },
    onSent(bytes) {
      sent = bytes;
      work.progress(bytes / size);
    },
    get isSent() {
      return sent === size;
    },
    get trouble() {
      return trouble;
    },
    [Symbol.dispose]: () => reading.abort(),
  };
}

/** Another try finds out whether the asset is gone, or has another file. */
function changed(outcome: string): Fault {
  const what = outcome === 'ok' ? 'has another size' : 'is not there';
  return new Fault('export.trouble', { status: 503, message: `The stored file of the asset ${what}.` });
}
