import { Type } from '@sinclair/typebox';
import { nameSchema } from '../../core/base/name.ts';
import { object, oneOf } from '../../core/base/schema.ts';
import type { Caller } from '../../core/http/caller.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import { collection, token } from '../../core/plugin/token.ts';

/** How other plugins make tasks and report their progress. A refused command (`false`) changes nothing. */
export interface Tasks {
  /** Creates a task as `pending`; an existing one of this id stays as it is. Fault `task.too_many` (409). */
  spawn(task: NewTask): Promise<void>;
  find(id: string): Promise<TaskReference | undefined>;
  /** This process works on it. False: it was completed or cancelled, or has too many attempts running. */
  begin(id: string, workId: string): Promise<boolean>;
  /** 0..1. False: stop working on it: it was cancelled, or another attempt completed it. */
  progress(id: string, to: { readonly workId: string; readonly progress: number }): Promise<boolean>;
  /** The attempt ended without a result; the task waits for another. */
  interrupted(id: string, workId: string): Promise<void>;
  /** It cannot be done. True when the task has failed: no other attempt runs. */
  fail(id: string, why: { readonly workId: string; readonly message: string }): Promise<boolean>;
  /** The result is there. Repeating it is harmless. */
  complete(id: string, output: Readonly<Record<string, unknown>>): Promise<void>;
  cancel(id: string): Promise<void>;
  /** Cancels all tasks with this `inputAssetId`. */
  cancelOf(assetId: string): Promise<void>;
  /** The task object, as its owner sees it. */
  show(id: string): Promise<Record<string, unknown> | undefined>;
}

export interface NewTask {
  readonly id: string;
  readonly account: string;
  readonly type: TaskType;
  /** Of its subject. */
  readonly name: string;
  readonly inputAssetId?: string;
  readonly outputAssetId?: string;
  /** Shown as they are: no secrets. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** What its work needs beside `params` and no answer shows: credentials, and URLs with credentials. Dropped with the result. */
  readonly secret?: Readonly<Record<string, unknown>>;
  readonly createdByTokenName?: string;
  /** Until when it must have begun, epoch ms. Default: a week from now. */
  readonly deadline?: number;
  /** Error message when it has not. */
  readonly lateMessage?: string;
}

export interface TaskReference {
  readonly phase: TaskPhase;
  readonly account: string;
  readonly inputAssetId: string | null;
  readonly outputAssetId: string | null;
}

/** Tasks of one type: offered by the plugin that makes them. */
export interface TaskKind {
  readonly type: TaskType;
  /** Called before a failed or cancelled task becomes `pending` again. Throws a Fault when that is not possible. */
  renew(
    task: { readonly id: string } & TaskReference,
    options: { readonly caller: Caller; readonly keyId: string | undefined },
  ): Promise<Renewal>;
  /**
   * Does the work of one task, on some node and off the threads that read sockets. Types without it use `begin` and
   * `complete`: an upload is done by its client.
   *
   * Runs at least once: after a crash another process repeats all of it, so a repeat must find or replace what the former left.
   * A throw is a temporary error (a connection, a store): it is retried with growing waits, and not before the `retryAfter` of
   * a Fault. A Fault with `retry: false`, or the outcome `failed`, ends the task.
   */
  run?(work: TaskWork): Promise<TaskResult>;
}

/** One attempt at a task. */
export interface TaskWork extends TaskReference {
  readonly id: string;
  readonly name: string;
  /** As it is shown. */
  readonly params: Readonly<Record<string, unknown>> | null;
  /** As given to `spawn`: never shown, never logged. */
  readonly secret: Readonly<Record<string, unknown>> | null;
  /** 1 at first. */
  readonly attempt: number;
  /** Aborted when the task is cancelled, its time is up, or the program ends; `run` then throws the reason. */
  readonly signal: AbortSignal;
  /** 0..1; may be called often: it is stored every 2 s, and never goes back. Throws nothing. */
  progress(fraction: number): void;
}

export type TaskResult =
  /** `output`: shown under the type's name. */
  | { readonly outcome: 'done'; readonly output: Readonly<Record<string, unknown>> }
  /** `message`: shown as `errorMessage`; a whole sentence. */
  | { readonly outcome: 'failed'; readonly message: string };

export type TaskType = 'import' | 'upload' | 'export' | 'recording' | 'transcode';
export type TaskPhase = 'pending' | 'waiting' | 'running' | 'completed' | 'failed' | 'cancelled';

export interface Renewal {
  /** As of a new one. */
  readonly deadline?: number;
  /** Shown once, in the answer, beside the `params` of the task. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** How exports reach IPFS: `plugins.tasks.ipfs`, checked. URLs have no trailing slash. */
export type IpfsSettings = {
  /** `<gateway>/ipfs/<cid>` shows an export. Absent: this server for its own exports, else a public gateway. */
  readonly gateway?: string;
  /** Of `local` and `kubo`: how a file is cut into blocks. */
  readonly cidProfile: 'unixfs-v1-2025' | 'unixfs-v0-2015';
  /** The pinning service; with another driver it is used for credentials that a caller brings. */
  readonly pinningEndpoint: string;
} & (
  | { readonly driver: 'local' }
  | { readonly driver: 'kubo'; readonly endpoint: string }
  | { readonly driver: 'pinning'; readonly credentials: PinningCredentials }
);

/** `jwt` goes as a bearer token, the pair as `pinning_api_key` and `pinning_secret_api_key`. */
export type PinningCredentials =
  | { readonly jwt: string }
  | { readonly apiKey: string; readonly apiSecret: string };

/** Of texts that were checked: either `jwt`, or the pair. */
export function credentialsOf(given: {
  readonly jwt?: string;
  readonly apiKey?: string;
  readonly apiSecret?: string;
}): PinningCredentials {
  const { jwt, apiKey = '', apiSecret = '' } = given;
  return jwt === undefined ? { apiKey, apiSecret } : { jwt };
}

export const tasks = token<Tasks>('tasks');
export const ipfsSettings = token<IpfsSettings>('tasks.ipfs');
export const taskKinds = collection<TaskKind>('tasks.kinds');

const ofType = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description, additionalProperties: false, examples: [{}] });

/** The task object. */
export const taskSchema = object(
  {
    id: idSchema,
    type: oneOf(['upload', 'import', 'export', 'recording', 'transcode']),
    name: nameSchema('Friday show'),
    userId: Type.String({ description: 'Account that it belongs to.', examples: idSchema.examples }),
    createdAt: momentSchema,
    inputAssetId: Type.Optional(Type.String({ examples: idSchema.examples })),
    outputAssetId: Type.Optional(
      Type.String({ description: 'The asset that it creates.', examples: idSchema.examples }),
    ),
    createdByTokenName: Type.Optional(Type.String({ examples: ['Studio'] })),
    params: Type.Optional(ofType('What was requested, under the name of the type. Secrets are left out.')),
    output: Type.Optional(
      ofType(
        'When completed: the result, under the name of the type. For an upload `assetSpec`, and the keys of its blobs: `videoFilePath`, `metadataFilePath`.',
      ),
    ),
    status: object({
      phase: oneOf(['pending', 'waiting', 'running', 'completed', 'failed', 'cancelled']),
      updatedAt: momentSchema,
      progress: Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Starts again with a retry, and with each attempt of the server.',
        examples: [0.4],
      }),
      errorMessage: Type.Optional(
        Type.String({
          description: 'Why it failed; while it waits for another attempt, why the last one ended.',
          examples: ['The file was refused: it is empty.'],
        }),
      ),
      retries: Type.Optional(Type.Integer({ minimum: 1, description: 'How often a client has retried it.' })),
    }),
  },
  { $id: 'Task' },
);
