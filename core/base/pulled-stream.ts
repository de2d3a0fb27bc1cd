/**
 * A stream that gets each piece when it is read and buffers none. `next` returns undefined at the end, unless `isDone` says
 * earlier that nothing follows. `end` is called once, whatever ends the stream; an aborted signal ends it with its reason.
 */
export function pulledStream(options: {
  next(): Promise<Uint8Array | undefined>;
  isDone?(): boolean;
  end(): void | Promise<void>;
  signal?: AbortSignal;
}): ReadableStream<Uint8Array> {
  const { next, isDone = () => false, signal } = options;
  let isOver = false;
  let onAbort = () => {};
  const end = async () => {
    if (isOver) return;
    isOver = true;
    signal?.removeEventListener('abort', onAbort);
    await options.end();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        onAbort = () => {
          controller.error(signal?.reason);
          void end();
        };
        signal?.addEventListener('abort', onAbort);
        if (signal?.aborted) onAbort();
        else if (isDone()) {
          controller.close();
          void end();
        }
      },
      async pull(controller) {
        try {
          const bytes = await next();
          if (isOver) return;
          if (bytes) controller.enqueue(bytes);
          if (bytes && !isDone()) return;
          controller.close();
        } catch (error) {
          if (isOver) return;
          controller.error(error);
        }
        await end();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
