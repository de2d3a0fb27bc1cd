/** Where the bytes of a `LentStream` come from. */
export interface Lender {
  /** The next piece; undefined: that was all. */
  next(): Uint8Array | undefined;
  /** Nobody looks at any piece again. Called once or more. */
  end(): void;
}

/**
 * A body whose bytes lie in memory that is used for other things later. Who reads the stream gets copies, which are theirs. Who is done
 * with each piece before asking for the next, and says when it is over, may borrow them from `lender` instead of reading: nothing
 * is copied then.
 */
export class LentStream extends ReadableStream<Uint8Array> {
  readonly lender: Lender;

  constructor(lender: Lender) {
    super(
      {
        pull(controller) {
          const piece = lender.next();
          if (piece) {
            controller.enqueue(piece.slice());
            return;
          }
          lender.end();
          controller.close();
        },
        cancel: () => lender.end(),
      },
      // Nothing is taken from the lender before somebody reads.
      { highWaterMark: 0 },
    );
    this.lender = lender;
  }
}
