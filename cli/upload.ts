import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { DetailedError, Upload } from 'tus-js-client';
import { type Asset, MillraceError } from '../sdk/client/index.ts';
import { type Command, exits, Failure, print } from './command.ts';
import { type Connection, connectionOf, serverOptions } from './connection.ts';
import { untilInterrupted } from './interruption.ts';
import { progress } from './progress.ts';
import { bytes, facts, plain } from './table.ts';
import { type Film, filmOf, forget, readNote, type UploadNote, writeNote } from './upload-note.ts';

/** Bytes of one request: proxies have bounds, and each request ends with a sync of the server's disk. */
const chunkSize = 32 * 1024 * 1024;
/** Before a request is made again, ms. */
const retryDelays = [0, 1000, 3000, 5000, 10_000];

export const upload: Command = {
  name: 'upload',
  usage: '<file>…',
  summary: 'uploads films as new assets, one after another',
  details: 'Give the same command again after an interruption: it continues where it was cut off.',
  options: serverOptions,
  arguments: { least: 1, most: Number.POSITIVE_INFINITY },
  async run(given) {
    const connection = await connectionOf(given);
    // A name that is wrong is said before the first film, which may take hours.
    const films = await Promise.all(given.arguments.map((file) => filmOf(file, connection)));
    for (const film of films) {
      const asset = await uploaded(connection, film);
      if (connection.isJson) print(JSON.stringify({ file: film.path, asset }));
      else
        print(
          facts({
            Asset: asset.name,
            Id: asset.id,
            State: asset.status,
            HLS: asset.playbackUrl,
            File: asset.downloadUrl,
          }),
        );
    }
    return exits.fine;
  },
};

/** The asset of a film, once the server has accepted it. */
async function uploaded(connection: Connection, film: Film): Promise<Asset> {
  const { client } = connection;
  const known = await resumable(connection, film);
  if (known?.asset.status === 'ready') {
    await forget(film);
    return known.asset;
  }
  try {
    const note = known?.note ?? (await begun(connection, film));
    await send(film, note);
    await forget(film);
    return await client.getAsset({ id: note.assetId });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    await forget(film);
    // Its URL has expired, or the server no longer knows it.
    if (known && error.isOver) return uploaded(connection, film);
    throw error;
  }
}

/** An earlier upload of the film that can continue. */
async function resumable(
  { client }: Connection,
  film: Film,
): Promise<{ note: UploadNote; asset: Asset } | undefined> {
  const note = await readNote(film);
  if (!note) return undefined;
  const asset = await client.getAsset({ id: note.assetId }).catch((error: unknown) => {
    if (error instanceof MillraceError && error.status === 404) return undefined;
    throw error;
  });
  if (asset && asset.status !== 'failed') return { note, asset };
  await forget(film);
  return undefined;
}

async function begun({ client }: Connection, film: Film): Promise<UploadNote> {
  const name = basename(film.path);
  const { tusEndpoint, asset, task } = await client.requestUpload({ body: { name } });
  const note = { tusEndpoint, assetId: asset.id, taskId: task.id };
  await writeNote(film, note);
  return note;
}

/** The server has answered, and did not take it. */
class Refused extends Failure {
  /** Another upload may succeed. */
  readonly isOver: boolean;

  constructor(message: string, { isOver }: { isOver: boolean }) {
    super(message);
    this.isOver = isOver;
  }
}

/** Sends the bytes that the server does not have. Rejects when it refuses them, and when it is interrupted. */
async function send(film: Film, note: UploadNote): Promise<void> {
  const bar = progress(plain(basename(film.path)));
  let sent = 0;
  const done = await untilInterrupted(async (signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const noting: Promise<void>[] = [];
    // Its types know those of browsers only.
    const source = createReadStream(film.path) as unknown as Blob;
    const began = performance.now();
    let from: number | undefined;
    const sending = new Upload(source, {
      ...{ endpoint: note.tusEndpoint, uploadUrl: note.uploadUrl ?? null },
      ...{ chunkSize, retryDelays, uploadSize: film.size, storeFingerprintForResuming: false },
      onUploadUrlAvailable() {
        if (sending.url !== null) noting.push(writeNote(film, { ...note, uploadUrl: sending.url }));
      },
      onProgress(count, total) {
        from ??= count;
        sent = count;
        bar.show(count / total, speedOf({ from, count, total, ms: performance.now() - began }));
      },
      onSuccess: () => resolve(true),
      onError: (error) => reject(failureOf(error, { count: sent, film })),
    });
    signal.addEventListener('abort', () => {
      void sending.abort().then(() => reject(signal.reason), reject);
    });
    sending.start();
    return promise.finally(() => Promise.all(noting));
  }).finally(() => bar.clear());
  if (!done)
    throw new Failure(`interrupted at ${share(sent, film)}. Give the same command again to continue.`);
}

function failureOf(error: Error | DetailedError, { count, film }: { count: number; film: Film }): Failure {
  const response = error instanceof DetailedError ? error.originalResponse : null;
  if (!response)
    return new Failure(
      `the connection was lost at ${share(count, film)}. Give the same command again to continue.`,
      exits.unreachable,
    );
  const status = response.getStatus();
  const said = saidBy(response.getBody()) ?? `the server answered with ${status}.`;
  // The server keeps what it has.
  if (status >= 500 || status === 423 || status === 408 || status === 429)
    return new Failure(`${said} Give the same command again to continue.`);
  return new Refused(said, { isOver: [403, 404, 410].includes(status) });
}

function saidBy(body: string): string | undefined {
  try {
    const { errors } = JSON.parse(body);
    return Array.isArray(errors) && errors.length > 0 ? errors.join(' ') : undefined;
  } catch {
    return undefined;
  }
}

function share(count: number, { size }: Film): string {
  return `${Math.floor((count / size) * 100)} %`;
}

function speedOf({
  from,
  count,
  total,
  ms,
}: {
  from: number;
  count: number;
  total: number;
  ms: number;
}): string {
  const size = `${bytes(count)} of ${bytes(total)}`;
  if (count === total) return `${size}, the server inspects it`;
  const perSecond = ((count - from) / Math.max(1, ms)) * 1000;
  if (perSecond === 0) return size;
  const left = Math.ceil((total - count) / perSecond);
  return `${size}, ${bytes(perSecond)}/s, ${left < 60 ? `${left} s` : `${Math.ceil(left / 60)} min`} left`;
}
