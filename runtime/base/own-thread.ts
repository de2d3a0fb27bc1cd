/** A thread of this program. */
export interface OwnThread<To> {
  send(message: To, transfer?: Transferable[]): void;
  /** It ends at once, and nothing more is heard of it. */
  end(): void;
}

/**
 * Starts a thread. `ended` is told once, in plain words, when it ends by itself: by an error, by a message that cannot be read, or just
 * so; `hear` is not called afterwards. Whoever is told still calls `end`, since an error alone does not end it.
 */
export function ownThread<To, From>(
  program: URL,
  { hear, ended }: { hear(message: From): void; ended(reason: string): void },
): OwnThread<To> {
  const worker = new Worker(program);
  let isOver = false;
  const over = (reason: string) => {
    if (isOver) return;
    isOver = true;
    ended(reason);
  };
  worker.onmessage = ({ data }: MessageEvent<From>) => {
    if (!isOver) hear(data);
  };
  worker.onerror = (error) => {
    error.preventDefault();
    over(error.message);
  };
  worker.onmessageerror = () => over('a message between the threads could not be read');
  worker.addEventListener('close', () => over('its thread ended'));
  return {
    send: (message, transfer = []) => worker.postMessage(message, transfer),
    end() {
      isOver = true;
      worker.terminate();
    },
  };
}

/** The same bytes with no others in their memory, which can be transferred: copied where they lie among others. */
export function ownMemory(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isAlone = bytes.byteLength === bytes.buffer.byteLength;
  // No `slice`: that of a Buffer is a view of the same memory.
  return isAlone ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}
