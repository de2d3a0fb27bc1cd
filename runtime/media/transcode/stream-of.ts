/** What is made piece by piece, when it is read. `leave`: nobody reads any more; what waits for something is to end by it. */
export function streamOf(
  pieces: AsyncGenerator<Uint8Array>,
  { leave }: { leave(): void },
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        leave();
        await pieces.return(undefined).catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}
