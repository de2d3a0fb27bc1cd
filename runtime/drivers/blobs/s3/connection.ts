import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { pause } from '../../../../core/base/timing.ts';
import { closed } from '../../../../core/blobs/faults.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { faultOf, isPassing } from './errors.ts';
import {
  type Exchange,
  type HttpHandler,
  httpHandler,
  type S3Limits,
  SentBytes,
  s3Limits,
} from './http-handler.ts';

/** The section `s3` of the config. */
export interface S3Config {
  /** `https://s3.example.com`. Default: AWS, by the region. */
  readonly endpoint?: string;
  readonly bucket: string;
  /** Default `us-east-1`. */
  readonly region?: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** `endpoint/bucket/key` instead of `bucket.endpoint/key`. Default: true with an endpoint. */
  readonly forcePathStyle?: boolean;
}

export interface S3BlobsOptions extends S3Config {
  readonly clock: Clock;
  /** Of tests. */
  readonly limits?: Partial<S3Limits>;
}

type Sdk = typeof import('@aws-sdk/client-s3');

/** Makes one command of the AWS client, whose answer is a `T`. */
export type MakeCommand<T> = (sdk: Sdk) => {
  resolveMiddleware(...args: never[]): (...args: never[]) => Promise<{ output: T }>;
};

export type Connection = ReturnType<typeof connection>;

export interface SendOptions extends Omit<Exchange, 'abortSignal'> {
  readonly signal?: AbortSignal;
  readonly attempts?: number;
  /** Called before each attempt, 1 first. */
  readonly onAttempt?: (attempt: number) => void;
}

/** One bucket, with retries. */
export function connection(options: S3BlobsOptions) {
  const { bucket, clock } = options;
  const limits = { ...s3Limits, ...options.limits };
  let handler: HttpHandler | undefined;
  let loaded: Promise<{ sdk: Sdk; client: S3Client }> | undefined;
  const closing = new AbortController();

  const load = async () => {
    const sdk = await import('@aws-sdk/client-s3');
    handler = httpHandler({ clock, limits });
    const client = new sdk.S3Client(clientConfig(options, handler));
    signBodies(client);
    return { sdk, client };
  };
  /** Waits before attempt `next`, 2 or more. Ends with the signal's reason. */
  const pauseBefore = async (next: number, signal: AbortSignal = closing.signal) => {
    const most = Math.min(limits.longestWait, limits.firstWait * 2 ** (next - 2));
    await pause(clock.now() + Math.random() * most, { clock, signal });
    signal.throwIfAborted();
  };

  /** One command, tried again while that may help. Throws what S3 answered, as it is, or Fault `blobs.closed`. */
  const send = async <T>(command: MakeCommand<T>, given: SendOptions = {}): Promise<T> => {
    const { signal, attempts = limits.attempts, onAttempt, ...exchange } = given;
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted();
      closing.signal.throwIfAborted();
      loaded ??= load();
      const { sdk, client } = await loaded;
      onAttempt?.(attempt);
      try {
        const all = { ...exchange, ...(signal && { abortSignal: signal }) };
        return (await client.send(command(sdk) as never, all as never)) as T;
      } catch (error) {
        signal?.throwIfAborted();
        closing.signal.throwIfAborted();
        if (attempt >= attempts || !isPassing(error)) throw error;
      }
      await pauseBefore(attempt + 1, signal);
    }
  };

  return {
    bucket,
    clock,
    limits,
    send,
    pause: pauseBefore,
    /** The same, but what S3 answered is a Fault already. `what` begins its message. */
    async ask<T>(what: string, command: MakeCommand<T>, given?: SendOptions): Promise<T> {
      return send(command, given).catch((error) => {
        throw faultOf(error, `${what} in bucket ${bucket}`);
      });
    },
    /** A body to send. */
    body: (bytes: Uint8Array) => ({
      Body: new SentBytes(bytes) as never,
      ContentLength: bytes.length,
    }),
    close() {
      closing.abort(closed());
      handler?.destroy();
    },
  };
}

/**
 * The signature covers what is sent, so that a store takes nothing else for it. Without, versitygw 1.8 keeps the part of a body
 * that had arrived when its connection broke, as a whole blob, or as a part of full length with zeros at its end.
 */
function signBodies({ middlewareStack }: S3Client): void {
  middlewareStack.add(
    (next) => async (step) => {
      const request = step.request as { body?: unknown; headers: Record<string, string> };
      if (request.body instanceof SentBytes) {
        request.headers['x-amz-content-sha256'] = await request.body.hash();
      }
      return next(step);
    },
    { step: 'build', name: 'signBodies' },
  );
}

function clientConfig(options: S3BlobsOptions, handler: HttpHandler): S3ClientConfig {
  const { endpoint, region, accessKeyId, secretAccessKey, forcePathStyle } = options;
  return {
    ...(endpoint !== undefined && { endpoint }),
    region: region ?? 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
    // By names below the endpoint only where it is AWS itself: others rarely have DNS for that.
    forcePathStyle: forcePathStyle ?? endpoint !== undefined,
    // Otherwise newer clients send trailing checksums, which R2, older MinIO and others refuse.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Retries are ours: bounded, and known to the caller, because a repeated write may meet its own result.
    maxAttempts: 1,
    expectContinueHeader: false,
    requestHandler: handler as never,
  };
}
