/**
 * What the deployment's key (`secretsKey`) is for. It is the same on all nodes and outlives every process. All of this happens
 * in microseconds, on this thread.
 */
export interface Secrets {
  /** 32 bytes for one purpose, such as `webhooks`: the same at each call, and of no use for guessing those of another one. */
  keyFor(purpose: string): Uint8Array;
  /**
   * The text, encrypted for a place such as `webhook/<id>/secret`: nowhere else can it be opened. Two seals of one text differ, so
   * nothing can be found by one.
   */
  seal(text: string, context: string): string;
  /**
   * What was sealed for this place. A text that is not sealed is returned as it is: older versions stored it so. Undefined: it was
   * sealed for another place or with another key, or was changed since.
   */
  open(sealed: string, context: string): string | undefined;
}
