import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cached, cacheFolder } from './cache.ts';
import { type Engine, type EngineOptions, startEngine } from './engine.ts';
import { type Finding, firstOnPath, isExecutable, outputOf } from './find.ts';

export interface S3Options extends EngineOptions {
  /** Made when it is not there. Default `millrace`. */
  readonly bucket?: string;
}

export interface S3 extends Engine {
  /** `http://127.0.0.1:<port>`; buckets are in the path, not in the host name. */
  readonly endpoint: string;
  readonly port: number;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly bucket: string;
}

const version = 'v1.8.0';
/** What its go.mod asks for. */
const goVersion = [1, 25];
const name = `versitygw-${version}`;
const region = 'us-east-1';

/** A versitygw on a folder: real signatures, multipart uploads and conditions. The folder's file system must know user xattrs. */
export async function s3(options: S3Options = {}): Promise<S3> {
  const program = await fetchS3();
  const { bucket = 'millrace' } = options;
  const { engine, place } = await startEngine(
    {
      name: 's3',
      portCount: 1,
      prepare: async ({ folder, ports }) => {
        const keys = keysIn(folder);
        const buckets = join(folder, 'buckets');
        // A folder is a bucket, that of the root account.
        mkdirSync(join(buckets, bucket), { recursive: true });
        return {
          command: [program, '--port', `127.0.0.1:${ports[0]}`, '--health', '/health', 'posix', buckets],
          env: {
            ROOT_ACCESS_KEY: keys.accessKeyId,
            ROOT_SECRET_KEY: keys.secretAccessKey,
            VGW_REGION: region,
          },
        };
      },
      async isReady({ ports }) {
        const answer = await fetch(`http://127.0.0.1:${ports[0]}/health`, {
          signal: AbortSignal.timeout(1000),
        });
        await answer.arrayBuffer();
        return answer.ok;
      },
    },
    options,
  );
  const [port] = place.ports;
  return Object.assign(engine, {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    region,
    bucket,
    ...keysIn(place.folder),
  });
}

/** A versitygw on the PATH, else ours in the cache. */
export async function findS3(): Promise<Finding> {
  const ours = join(cacheFolder(), name, 'versitygw');
  const program = firstOnPath('versitygw') ?? (isExecutable(ours) ? ours : undefined);
  return program ? { program } : { missing: 'no versitygw on the PATH or in the cache' };
}

/** Finds it, or builds it from the Go module proxy into the cache (90 s on two cores). */
export async function fetchS3(): Promise<string> {
  const found = await findS3();
  if (found.program) return found.program;
  const folder = await cached(name, async (target) => {
    const go = await findGo();
    console.error(`engines: building versitygw ${version} with ${go}`);
    await outputOf([go, 'install', `github.com/versity/versitygw/cmd/versitygw@${version}`], {
      env: { GOBIN: target, CGO_ENABLED: '0' },
    });
  });
  return join(folder, 'versitygw');
}

/** A Go that can build it. One from 1.21 on brings the version that is asked for by itself, unless it is told not to. */
async function findGo(): Promise<string> {
  const wanted = `S3 tests need versitygw on the PATH, or Go ${goVersion.join('.')} to build it`;
  const go = firstOnPath('go', ['/usr/local/go/bin']);
  if (!go) throw new Error(`s3: ${wanted}; there is no Go here`);
  const found = /go(\d+)\.(\d+)/.exec(await outputOf([go, 'version']));
  const [major, minor] = found?.slice(1).map(Number) ?? [0, 0];
  const isNewer = major > goVersion[0] || (major === goVersion[0] && minor >= goVersion[1]);
  if (isNewer) return go;
  const bringsNewer = minor >= 21 && (await outputOf([go, 'env', 'GOTOOLCHAIN'])).trim() !== 'local';
  if (!bringsNewer) throw new Error(`s3: ${wanted}; ${go} is ${found?.[0] ?? 'of an unknown version'}`);
  return go;
}

/** The same over restarts, also those of another process on the same folder. */
function keysIn(folder: string): { accessKeyId: string; secretAccessKey: string } {
  const file = join(folder, 'keys.json');
  if (!existsSync(file)) {
    const keys = {
      accessKeyId: randomBytes(10).toString('hex'),
      secretAccessKey: randomBytes(20).toString('hex'),
    };
    writeFileSync(file, JSON.stringify(keys), { mode: 0o600 });
  }
  return JSON.parse(readFileSync(file, 'utf8'));
}
