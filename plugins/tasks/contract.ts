import { Type } from '@sinclair/typebox';
import { nameSchema } from '../../core/base/name.ts';
import type { Caller } from '../../core/http/caller.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import { collection, token } from '../../core/plugin/token.ts';

/** How other plugins make tasks, and say how far they are. What is refused (`false`) changes nothing. */
export interface Tasks {
  /** Begins a task as `pending`; one of this id that is there stays as it is. Fault `task.too_many` (409). */
  spawn(task: NewTask): Promise<void>;
  find(id: string): Promise<TaskReference | undefined>;
  /** It is worked at, by this process. False: it has ended well, was cancelled, or too many work at it. */
  begin(id: string, workId: string): Promise<boolean>;
  /** 0..1. False: it is not to be worked at any more: cancelled, or done by another. */
  progress(id: string, to: { readonly workId: string; readonly progress: number }): Promise<boolean>;
  /** The try is over without a result; the task waits for another. */
  interrupted(id: string, workId: string): Promise<void>;
  /** It cannot be done. True when the task has failed by that: nobody else works at it. */
  fail(id: string, why: { readonly workId: string; readonly message: string }): Promise<boolean>;
  /** The result is there. Repeating it is harmless. */
  complete(id: string, output: Readonly<Record<string, unknown>>): Promise<void>;
  /** Nobody wants it any more. */
  cancel(id: string): Promise<void>;
  /** The same of all of one type that were to work with this asset (`inputAssetId`). */
  cancelOf(assetId: string, type: TaskType): Promise<void>;
  /** The task object, as its owner sees it. */
  show(id: string): Promise<Record<string, unknown> | undefined>;
}

export interface NewTask {
  readonly id: string;
  readonly account: string;
  readonly type: TaskType;
  /** Of what it is about. */
  readonly name: string;
  readonly inputAssetId?: string;
  readonly outputAssetId?: string;
  /** Shown as they are: no secrets. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** What its work needs beside `params` and is not shown: credentials, URLs that hold some. Kept until the result is there. */
  readonly secret?: Readonly<Record<string, unknown>>;
  readonly createdByTokenName?: string;
  /** Until when it must have begun, epoch ms. */
  readonly deadline: number;
  /** Why it failed when it has not. */
  readonly lateMessage: string;
}

export interface TaskReference {
  readonly phase: TaskPhase;
  readonly account: string;
  readonly inputAssetId: string | null;
  readonly outputAssetId: string | null;
}

/** What tasks of one type are: offered by the plugin that makes them. */
export interface TaskKind {
  readonly type: TaskType;
  /** Called before a failed or cancelled one becomes `pending` again. Throws a Fault when that cannot be. `caller`, `keyId`: who asks for it, and with which API key. */
  renew(
    task: { readonly id: string } & TaskReference,
    options: { readonly caller: Caller; readonly keyId: string | undefined },
  ): Promise<Renewal>;
  /**
   * Does the work of one task of this type, on some node and off the threads that read sockets. Types without it are worked at by
   * whoever has what it takes, with `begin` and `complete`: an upload by its client.
   *
   * At least once: the process may die at any line, and then another does all of it again, so a repeat must find or replace what
   * the former left. A throw is trouble on the way (a connection, a store): it is tried again, later each time, and not before the
   * `retryAfter` of a Fault. One with `retry: false`, or the outcome `failed`, ends it.
   */
  run?(work: TaskWork): Promise<TaskResult>;
}

/** One try at a task. */
export interface TaskWork extends TaskReference {
  readonly id: string;
  readonly name: string;
  /** As it is shown. */
  readonly params: Readonly<Record<string, unknown>> | null;
  /** As it was given to `spawn`: never shown, never logged. */
  readonly secret: Readonly<Record<string, unknown>> | null;
  /** 1 at first. */
  readonly attempt: number;
  /** Aborted when it is cancelled, its time is up, or the program ends; `run` then throws the reason. */
  readonly signal: AbortSignal;
  /** 0..1, as often as one likes: it is stored now and then, and what is less than before is passed over. Throws nothing. */
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
  readonly deadline: number;
  /** What the answer shows beside the task's own `params`, and nothing else ever does. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** How exports reach IPFS: `plugins.tasks.ipfs`, checked. URLs have no slash at their end. */
export type IpfsSettings = {
  /** `<gateway>/ipfs/<cid>` shows what was exported. Absent: this server, of what it keeps itself, else a public one. */
  readonly gateway?: string;
  /** Of `local` and `kubo`: how a file is cut into blocks. */
  readonly cidProfile: 'unixfs-v1-2025' | 'unixfs-v0-2015';
  /** The pinning service, also for credentials that a caller brings where another driver is set. */
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

export const tasks = token<Tasks>('tasks');
export const ipfsSettings = token<IpfsSettings>('tasks.ipfs');
export const taskKinds = collection<TaskKind>('tasks.kinds');

const ofType = (description: string) =>
  Type.Record(Type.String(), Type.Unknown(), { description, additionalProperties: false, examples: [{}] });

/** The task object. */
export const taskSchema = Type.Object(
  {
    id: idSchema,
    type: Type.Union([
      Type.Literal('upload'),
      Type.Literal('import'),
      Type.Literal('export'),
      Type.Literal('recording'),
      Type.Literal('transcode'),
    ]),
    name: nameSchema('Friday show'),
    userId: Type.String({ description: 'Account that it belongs to.', examples: idSchema.examples }),
    createdAt: momentSchema,
    inputAssetId: Type.Optional(Type.String({ examples: idSchema.examples })),
    outputAssetId: Type.Optional(
      Type.String({ description: 'The asset that comes of it.', examples: idSchema.examples }),
    ),
    createdByTokenName: Type.Optional(Type.String({ examples: ['Studio'] })),
    params: Type.Optional(ofType('What was asked for, under the name of the type. Secrets are left out.')),
    output: Type.Optional(
      ofType(
        'When completed: the result, under the name of the type. Of an upload `assetSpec`, and the keys of its blobs: `videoFilePath`, `metadataFilePath`.',
      ),
    ),
    status: Type.Object(
      {
        phase: Type.Union([
          Type.Literal('pending'),
          Type.Literal('waiting'),
          Type.Literal('running'),
          Type.Literal('completed'),
          Type.Literal('failed'),
          Type.Literal('cancelled'),
        ]),
        updatedAt: momentSchema,
        progress: Type.Number({
          minimum: 0,
          maximum: 1,
          description: 'Begins anew by a retry, and with each try of the server.',
          examples: [0.4],
        }),
        errorMessage: Type.Optional(
          Type.String({
            description: 'Why it failed; while it waits for another try, why the last one ended.',
            examples: ['The file was refused: it is empty.'],
          }),
        ),
        retries: Type.Optional(
          Type.Integer({ minimum: 1, description: 'How often it was asked to try again.' }),
        ),
      },
      { additionalProperties: false },
    ),
  },
  { $id: 'Task', additionalProperties: false },
);
