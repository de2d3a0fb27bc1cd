import type { Clock } from '../../../../core/ports/clock.ts';
import type { S3Limits } from './limits.ts';

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
  readonly limits?: Partial<S3Limits>;
}
