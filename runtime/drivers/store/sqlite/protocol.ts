import type {
  AcquireOptions,
  BatchOutcome,
  CommitOutcome,
  Lease,
  ResourceCommit,
  StepBatch,
  StepCommit,
} from '../../../../core/ports/store.ts';
import type { JobWrites } from './job-rows.ts';
import type { Reader } from './reader.ts';

/** What changes the data. Each call takes one argument, so that a request is a name and a value. */
export interface Writes extends JobWrites {
  acquire(options: AcquireOptions & { readonly count: number }): Lease[];
  commit(step: StepCommit): CommitOutcome;
  commitAll(batch: StepBatch): BatchOutcome;
  write(write: ResourceCommit): CommitOutcome;
  acknowledge(orderIds: readonly string[]): void;
  advance(cursor: { consumer: string; position: number }): void;
  sweep(what: { before: number; upTo: number }): void;
}

export type Calls = Writes &
  Reader & {
    /** Always the first request; everything after it waits in the worker's queue. */
    open(options: { file: string }): { schema: number; migrated: number };
    /** Always the last request. */
    close(options: null): void;
  };

export interface Request {
  readonly id: number;
  readonly name: keyof Calls;
  readonly argument: unknown;
}

/** One tick's requests travel as one message, and so do one group's answers. */
export type RequestBatch = readonly Request[];
export type AnswerBatch =
  | { readonly answers: readonly Answer[] }
  /** The worker cannot go on; whether the requests it holds were written is unknown. */
  | { readonly failed: string };

export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly problem: Problem };

/** An error without its class, which does not survive the way between threads. Without a code it is a bug. */
export interface Problem {
  readonly message: string;
  readonly code?: string;
  readonly status?: number;
}
