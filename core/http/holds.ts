/** Lets a request take its time: the server closes connections that are silent for long, be it that we are what is slow. */
export interface Holds {
  /**
   * From now on silence does not end the connection of this request; its handler sees to that. The answer ends it: to be
   * called before the request is answered, because the connection may have others after it.
   */
  hold(request: Request): () => void;
  /** The server that accepts the connections says how; before it does, nothing is held. `isHeld` false: as before. */
  heldBy(how: (request: Request, isHeld: boolean) => void): void;
}

export function holds(): Holds {
  let held: (request: Request, isHeld: boolean) => void = () => {};
  return {
    hold(request) {
      held(request, true);
      return () => held(request, false);
    },
    heldBy(how) {
      held = how;
    },
  };
}
