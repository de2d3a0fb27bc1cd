import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadBucketCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import type { S3 } from '../kit/engines/s3.ts';
import { engineFor } from '../kit/engines.ts';

const s3 = await engineFor('s3');

describe.skipIf(s3.isMissing)('an S3 server', () => {
  it('keeps objects over a kill, with the same keys', async () => {
    const engine = await s3.shared();
    const client = clientOf(engine);
    const body = crypto.getRandomValues(new Uint8Array(100_000));
    await client.send(
      new PutObjectCommand({ Bucket: engine.bucket, Key: 'a/b.bin', Body: body, ContentType: 'video/mp4' }),
    );
    await engine.kill();
    await engine.restart();
    const { Body, ContentType } = await client.send(
      new GetObjectCommand({ Bucket: engine.bucket, Key: 'a/b.bin' }),
    );
    expect(ContentType).toBe('video/mp4');
    expect(await Body?.transformToByteArray()).toEqual(body);
  });

  it('has the bucket from the start, and takes others', async () => {
    const engine = await s3.start({ bucket: 'media' });
    const client = clientOf(engine);
    await client.send(new HeadBucketCommand({ Bucket: 'media' }));
    await client.send(new CreateBucketCommand({ Bucket: 'other' }));
    await client.send(new PutObjectCommand({ Bucket: 'other', Key: 'a', Body: 'b' }));
    expect(engine.port).not.toBe((await s3.shared()).port);
  });

  it('knows who asks', async () => {
    const engine = await s3.shared();
    const stranger = clientOf({ ...keysOf(engine), secretAccessKey: 'guessed' });
    await expect(stranger.send(new HeadBucketCommand({ Bucket: engine.bucket }))).rejects.toMatchObject({
      $metadata: { httpStatusCode: 403 },
    });
  });

  it('answers nothing while it is frozen, and goes on afterwards', async () => {
    const engine = await s3.shared();
    await engine.freeze();
    const asked = clientOf(engine).send(new HeadBucketCommand({ Bucket: engine.bucket }));
    const first = await Promise.race([asked, Bun.sleep(300).then(() => 'silence')]);
    engine.thaw();
    expect(first).toBe('silence');
    await asked;
  });
});

type Keys = Pick<S3, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>;

const keysOf = ({ endpoint, region, accessKeyId, secretAccessKey }: S3): Keys => ({
  endpoint,
  region,
  accessKeyId,
  secretAccessKey,
});

function clientOf({ endpoint, region, accessKeyId, secretAccessKey }: Keys): S3Client {
  return new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
  });
}
