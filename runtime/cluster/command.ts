import type { JobResult } from '../../core/plugin/step.ts';

/** What stands on the log of a partition; the key of the record is the actor. */
export type Command =
  | (Asked & CommandBody)
  /** Of no actor: asks whether all before it is stored. */
  | (Asked & { readonly type: 'mark' })
  /** Of no actor: tells the time, so that timers fire. */
  | { readonly type: 'tick' };

interface Asked {
  /** Of the request: what its answer is known by. */
  readonly id: string;
  readonly replyTo: NodeAddress;
  /** Makes a repeat of the same request recognisable, as for `Actors`. */
  readonly cause?: string;
}

export type CommandBody =
  | { readonly type: 'spawn'; readonly input: unknown }
  | { readonly type: 'ask'; readonly command: { readonly type: string } }
  /** Of a job that the actor asked for. `owner`: who holds it; absent in commands of 0.1.0, which did not finish it. */
  | {
      readonly type: 'result';
      readonly child: string;
      readonly job: string;
      readonly owner?: string;
      readonly result: JobResult;
    };

export type AskedCommand = Exclude<Command, { readonly type: 'tick' }>;
/** What is asked of an actor. */
export type ActorCommand = Exclude<AskedCommand, { readonly type: 'mark' }>;

/** A process. */
export interface NodeAddress {
  readonly node: string;
  readonly incarnation: string;
}

/** A command as it was written, or why it is none. */
export function parsedCommand(text: string): Command | { readonly problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: 'it is no JSON' };
  }
  if (!isRecord(value)) return { problem: 'it is no object' };
  const { id, replyTo, cause, type } = value;
  if (type === 'tick') return { type };
  if (typeof id !== 'string' || id === '') return { problem: 'it has no id' };
  if (!isRecord(replyTo) || typeof replyTo.node !== 'string' || typeof replyTo.incarnation !== 'string') {
    return { problem: 'it does not say who waits for the answer' };
  }
  if (cause !== undefined && typeof cause !== 'string') return { problem: 'its cause is no text' };
  return isBody(value)
    ? (value as unknown as Command)
    : { problem: `it is of no known type: ${String(type)}` };
}

function isBody(value: Record<string, unknown>): boolean {
  if (value.type === 'spawn' || value.type === 'mark') return true;
  if (value.type === 'ask') return isRecord(value.command) && typeof value.command.type === 'string';
  const { child, job, owner = '', result } = value;
  const isNamed = typeof child === 'string' && typeof job === 'string' && typeof owner === 'string';
  return (
    value.type === 'result' && isNamed && isRecord(result) && ('output' in result || isRecord(result.error))
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
