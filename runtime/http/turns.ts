/** Requests that begin in one turn of the event loop, of those that came behind others. */
const atOnce = 16;

/**
 * Where requests wait that a client sent before it had the answer to the one in front. A client may send thousands at once: in turns
 * of a few, they delay no other client by more than one of these.
 */
export class Turns {
  readonly #waiting = new Set<() => void>();
  #isRunning = false;

  /** Calls it in a later turn of the event loop, behind those that wait. */
  add(begin: () => void): void {
    this.#waiting.add(begin);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    // What is added meanwhile is behind these, and never among them.
    const turn = [...this.#waiting.values().take(atOnce)];
    for (const begin of turn) this.#waiting.delete(begin);
    this.#isRunning = this.#waiting.size > 0;
    if (this.#isRunning) setImmediate(() => this.#run());
    for (const begin of turn) begin();
  }
}
