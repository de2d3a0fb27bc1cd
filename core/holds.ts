/** Lets a request take its time: the server closes connections that are silent for long, be it that we are what is slow. */
export interface Holds {
  /** From now on silence does not end the connection of this request; its handler sees to that. */
  hold(request: Request): void;
  /** The server that accepts the connections says how; before it does, nothing is held. */
  heldBy(how: (request: Request) => void): void;
}

export function holds(): Holds {
  let held: (request: Request) => void = () => {};
  return {
    hold: (request) => held(request),
    heldBy(how) {
      held = how;
    },
  };
}
