import { Fault } from '../../../core/base/fault.ts';

/** What crosses between nodes, whatever driver carries it. */
export const recordLimits = {
  /** Characters of a key: the id of an actor, or what events are ordered by. */
  keyLength: 500,
  /** Bytes of a command, an answer or an event as JSON: a request body and what we put around it. */
  valueBytes: 2 * 1_048_576,
  /** Events of one call. */
  published: 1000,
} as const;

/** What every driver checks before anything is sent. Throws RangeErrors that name the culprit, and Fault `bus.too_large`. */
export function checkRecord({ key, value }: { readonly key: string; readonly value: string }): void {
  if (key.length < 1 || key.length > recordLimits.keyLength)
    throw new RangeError(`a key has ${key.length} characters, not 1..${recordLimits.keyLength}`);
  checkValue(value);
}

export function checkValue(value: string): void {
  // UTF-8 has at most three bytes for each UTF-16 unit: most values need not be measured.
  if (value.length * 3 <= recordLimits.valueBytes || Buffer.byteLength(value) <= recordLimits.valueBytes)
    return;
  const message = `${Buffer.byteLength(value)} bytes of JSON; at most ${recordLimits.valueBytes}`;
  throw new Fault('bus.too_large', { status: 413, message });
}

export function checkPartition(partition: number, { partitions }: { readonly partitions: number }): void {
  if (!(Number.isInteger(partition) && partition >= 0 && partition < partitions))
    throw new RangeError(`partition ${partition} is not one of 0..${partitions - 1}`);
}

export function checkCount(count: number): void {
  if (count > recordLimits.published)
    throw new RangeError(`${count} records at once; at most ${recordLimits.published}`);
}

export function closedFault(): Fault {
  return new Fault('bus.closed', { status: 503, message: 'the bus is closed', retryAfter: 1 });
}

/** Nothing was sent, or only a question. */
export function unreachableFault(message: string, cause?: unknown): Fault {
  return new Fault('bus.unreachable', { status: 503, message, retryAfter: 1, cause });
}

export function unknownFault(message: string, cause?: unknown): Fault {
  return new Fault('bus.unknown', { status: 503, message, retryAfter: 1, cause });
}

/** Too much waits already. */
export function fullFault(count: number): Fault {
  const message = `${count} records wait for the bus already; this one was not sent`;
  return new Fault('bus.full', { status: 503, message, retryAfter: 1 });
}
