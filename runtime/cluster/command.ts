import type { JobResult } from '../../core/plugin/step.ts';

/** What is asked of an actor, as it stands on the log of its partition; the key of the record is the actor. */
export type Command = {
  /** Of the request. A second record with it is a copy of the first. */
  readonly id: string;
  readonly replyTo: NodeAddress;
  /** Makes a repeat of the same request recognisable, as for `Actors`. */
  readonly cause?: string;
} & CommandBody;

export type CommandBody =
  | { readonly type: 'spawn'; readonly input: unknown }
  | { readonly type: 'ask'; readonly command: { readonly type: string } }
  /** Of no actor: asks whether all before it is stored. */
  | { readonly type: 'mark' }
  /** Of a job that the actor asked for. `owner`: who holds it; absent in commands of 0.1.0, which did not finish it. */
  | {
      readonly type: 'result';
      readonly child: string;
      readonly job: string;
      readonly owner?: string;
      readonly result: JobResult;
    };

/** What is asked of an actor. */
export type ActorCommand = Exclude<Command, { readonly type: 'mark' }>;

/** A process. */
export interface NodeAddress {
  readonly node: string;
  readonly incarnation: string;
}

export function commandText(command: Command): string {
  return JSON.stringify(command);
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
  const { id, replyTo, cause } = value;
  if (typeof id !== 'string' || id === '') return { problem: 'it has no id' };
  if (!isRecord(replyTo) || typeof replyTo.node !== 'string' || typeof replyTo.incarnation !== 'string') {
    return { problem: 'it does not say who waits for the answer' };
  }
  if (cause !== undefined && typeof cause !== 'string') return { problem: 'its cause is no text' };
  return isBody(value)
    ? (value as unknown as Command)
    : { problem: `it is of no known type: ${String(value.type)}` };
}

function isBody(value: Record<string, unknown>): boolean {
  if (value.type === 'spawn' || value.type === 'mark') return true;
  if (value.type === 'ask') return isRecord(value.command) && typeof value.command.type === 'string';
  if (value.type !== 'result') return false;
  const { child, job, owner, result } = value;
  if (typeof child !== 'string' || typeof job !== 'string' || !isRecord(result)) return false;
  if (owner !== undefined && typeof owner !== 'string') return false;
  return 'output' in result || isRecord(result.error);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
