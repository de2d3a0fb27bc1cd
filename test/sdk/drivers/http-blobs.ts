/** A driver for blobs as somebody outside writes one: files on an HTTP server of its own kind. It imports `millrace/plugin` only. */
import {
  type BlobFacts,
  type Blobs,
  type BlobUploads,
  blobEndings,
  blobFaults,
  checkBlobKeys,
  definePlugin,
  object,
  partsOf,
  piecesOf,
  pulledStream,
  Type,
} from 'millrace/plugin';

/** Larger files are sent in parts of this size, bytes. */
const partSize = 5 * 1_048_576;

const config = object({ url: Type.String({ default: 'http://127.0.0.1:9999', description: 'The server.' }) });

export default definePlugin({
  id: 'http-blobs',
  summary: 'files on an HTTP server',
  contract: 3,
  config,
  drivers: { blobs: ({ url }) => httpBlobs(url) },
});

export function httpBlobs(url: string): Blobs {
  const ends = blobEndings();
  const requests = new Set<Promise<unknown>>();
  let isClosed = false;

  /** The answer of the server, whatever its status. */
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    if (isClosed) throw blobFaults.closed();
    const own = ends.begin(init.signal ?? undefined);
    const request = fetch(`${url}${path}`, { ...init, signal: own.signal });
    requests.add(request);
    try {
      const answer = await request;
      if (answer.status >= 500) throw blobFaults.unavailable(`${url} answers ${answer.status}`);
      return answer;
    } catch (error) {
      own.signal.throwIfAborted();
      throw error instanceof TypeError ? blobFaults.unavailable(`${url} does not answer`, error) : error;
    } finally {
      requests.delete(request);
      own.end();
    }
  };
  const json = async <T>(path: string, init?: RequestInit): Promise<T> =>
    (await (await ask(path, init)).json()) as T;

  const uploads: BlobUploads = {
    async begin(key, options) {
      checkBlobKeys([key]);
      return json('/uploads', { method: 'POST', body: JSON.stringify({ key, ...options }) });
    },
    async part({ id }, { number, bytes, signal = null }) {
      signal?.throwIfAborted();
      return json(`/uploads/${id}/${number}`, { method: 'PUT', body: bytes as never, signal });
    },
    parts: ({ id }) => json(`/uploads/${id}`),
    async complete(upload, options) {
      // Throws when the size is impossible.
      partsOf(options.size, upload.partSize);
      return json(`/uploads/${upload.id}`, { method: 'POST', body: JSON.stringify({ upload, ...options }) });
    },
    abort: async ({ id }) => void (await ask(`/uploads/${id}`, { method: 'DELETE' })),
    unfinished: ({ before, limit }) => json(`/uploads?before=${before}&limit=${limit}`),
  };

  const putWhole = async (
    key: string,
    bytes: Uint8Array,
    { ifAbsent, signal }: { ifAbsent?: boolean; signal: AbortSignal },
  ) => {
    const headers: Record<string, string> = ifAbsent ? { 'if-none-match': '*' } : {};
    const answer = await ask(`/blobs/${key}`, { method: 'PUT', headers, body: bytes as never, signal });
    if (answer.status === 412) return { outcome: 'conflict' } as const;
    return { outcome: 'ok', etag: etagOf(answer), size: bytes.length } as const;
  };

  return {
    adopting: 'copy',
    uploads,
    async open() {
      await ask('/uploads?before=0&limit=1');
    },
    async put(key, source, { size, ifAbsent = false, signal } = {}) {
      checkBlobKeys([key]);
      if (isClosed) throw blobFaults.closed();
      const own = ends.begin(signal);
      const pieces = piecesOf(source, { ...(size !== undefined && { size }), signal: own.signal });
      const whole = { ifAbsent, signal: own.signal };
      let upload: Awaited<ReturnType<typeof uploads.begin>> | undefined;
      try {
        let number = 0;
        let total = 0;
        for await (const { bytes, isLast } of inParts(pieces)) {
          if (isLast && number === 0) return await putWhole(key, bytes, whole);
          upload ??= await uploads.begin(key, { partSize });
          number += 1;
          total += bytes.length;
          await uploads.part(upload, { number, bytes, signal: own.signal });
        }
        const outcome = await uploads.complete(upload as never, { size: total, ifAbsent });
        if (outcome.outcome === 'ok') upload = undefined;
        return outcome.outcome === 'ok' ? outcome : { outcome: 'conflict' };
      } finally {
        own.end();
        if (upload && !isClosed) await uploads.abort(upload);
      }
    },
    async adopt(key, path, options = {}) {
      checkBlobKeys([key]);
      const file = Bun.file(path);
      const { size } = await file.stat();
      const outcome = await this.put(key, file.stream(), { size, ...options });
      if (outcome.outcome === 'ok') await file.delete();
      return outcome;
    },
    async head(key) {
      checkBlobKeys([key]);
      const answer = await ask(`/blobs/${key}`, { method: 'HEAD' });
      return answer.status === 404 ? undefined : factsOf(key, answer);
    },
    async get(key, { range, signal } = {}) {
      checkBlobKeys([key]);
      signal?.throwIfAborted();
      if (isClosed) throw blobFaults.closed();
      const own = ends.begin(signal);
      const headers: Record<string, string> = range ? { 'x-range': JSON.stringify(range) } : {};
      const answer = await ask(`/blobs/${key}`, { headers, signal: own.signal });
      if (answer.status !== 200) {
        own.end();
        return answer.status === 404
          ? { outcome: 'absent' }
          : { outcome: 'beyond', size: Number(answer.headers.get('x-size')) };
      }
      const [from = 0, to = 0] = (answer.headers.get('x-part') ?? '').split('-').map(Number);
      const reader = (answer.body ?? new Blob().stream()).getReader();
      let at = from;
      const body = pulledStream({
        signal: own.signal,
        isDone: () => at >= to,
        async next() {
          const { value } = await reader.read().catch((error) => {
            throw blobFaults.unavailable(`${key} broke off at ${at}`, error);
          });
          at += value?.length ?? 0;
          if (!value && at < to) throw blobFaults.unavailable(`${key} ends at ${at}, before ${to}`);
          return value as Uint8Array | undefined;
        },
        async end() {
          own.end();
          await reader.cancel().catch(() => {});
        },
      });
      return { outcome: 'ok', blob: factsOf(key, answer), from, to, body };
    },
    list: (prefix, { limit, after = '' }) =>
      json(`/blobs?${new URLSearchParams({ prefix, limit: `${limit}`, after })}`),
    async delete(keys) {
      checkBlobKeys(keys);
      await ask('/blobs', { method: 'DELETE', body: JSON.stringify(keys) });
    },
    async close() {
      isClosed = true;
      ends.endAll(blobFaults.closed());
      await Promise.allSettled(requests);
    },
  };
}

/** Bytes in parts of `partSize`, the last one shorter, and empty where there are none. */
async function* inParts(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ bytes: Uint8Array; isLast: boolean }> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    waiting.push(piece.slice());
    length += piece.length;
    while (length > partSize) {
      const all = new Uint8Array(Buffer.concat(waiting));
      yield { bytes: all.subarray(0, partSize), isLast: false };
      waiting = [all.slice(partSize)];
      length -= partSize;
    }
  }
  yield { bytes: new Uint8Array(Buffer.concat(waiting)), isLast: true };
}

function factsOf(key: string, answer: Response): BlobFacts {
  return {
    key,
    size: Number(answer.headers.get('x-size')),
    etag: etagOf(answer),
    modified: Number(answer.headers.get('x-modified')),
    type: answer.headers.get('content-type') ?? '',
  };
}

function etagOf(answer: Response): string {
  return (answer.headers.get('etag') ?? '').replaceAll('"', '');
}
