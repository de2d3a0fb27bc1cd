import type { Blobs } from '../../../core/ports/blobs.ts';
import { modelBlobs } from '../../conformance/blobs/model.ts';

/** The server that the driver of `http-blobs.ts` speaks with: files by HTTP, kept in memory. */
export function httpBlobServer(): { readonly url: string; stop(): Promise<void> } {
  const kept = modelBlobs();
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    maxRequestBodySize: 300 * 1_048_576,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      const [, place = '', ...rest] = pathname.split('/');
      const asked = { request, kept, query: searchParams, path: rest.join('/') };
      if (place === 'blobs') return asked.path === '' ? blobsAnswer(asked) : blobAnswer(asked);
      return uploadAnswer(asked);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    stop: () => server.stop(true),
  };
}

interface Asked {
  readonly request: Request;
  readonly kept: Blobs;
  readonly query: URLSearchParams;
  readonly path: string;
}

async function blobAnswer({ request, kept, path }: Asked): Promise<Response> {
  if (request.method === 'PUT') {
    const bytes = await request.bytes();
    const ifAbsent = request.headers.get('if-none-match') === '*';
    const put = await kept.put(path, bytes, { ifAbsent });
    if (put.outcome === 'conflict') return new Response(null, { status: 412 });
    return new Response(null, { headers: { etag: `"${put.etag}"` } });
  }
  const range = request.headers.get('x-range');
  const got = await kept.get(path, range === null ? {} : { range: JSON.parse(range) });
  if (got.outcome === 'absent') return new Response(null, { status: 404 });
  if (got.outcome === 'beyond')
    return new Response(null, { status: 416, headers: { 'x-size': `${got.size}` } });
  const { blob, from, to, body } = got;
  const headers = {
    ...{ etag: `"${blob.etag}"`, 'content-type': blob.type, 'x-part': `${from}-${to}` },
    ...{ 'x-size': `${blob.size}`, 'x-modified': `${blob.modified}` },
  };
  if (request.method !== 'HEAD') return new Response(body, { headers });
  await body.cancel();
  return new Response(null, { headers });
}

async function blobsAnswer({ request, kept, query }: Asked): Promise<Response> {
  if (request.method === 'DELETE') {
    await kept.delete((await request.json()) as string[]);
    return new Response();
  }
  const { prefix = '', limit, after = '' } = Object.fromEntries(query);
  return Response.json(await kept.list(prefix, { limit: Number(limit), after }));
}

async function uploadAnswer({ request, kept, query, path }: Asked): Promise<Response> {
  const { uploads } = kept;
  const [id = '', number] = path.split('/');
  if (id === '') {
    if (request.method === 'GET')
      return Response.json(
        await uploads.unfinished({ before: Number(query.get('before')), limit: Number(query.get('limit')) }),
      );
    const { key, partSize } = (await request.json()) as { key: string; partSize: number };
    return Response.json(await uploads.begin(key, { partSize }));
  }
  const upload = { id, key: '', partSize: 0 };
  if (number !== undefined)
    return Response.json(
      await uploads.part(upload, { number: Number(number), bytes: await request.bytes() }),
    );
  if (request.method === 'GET') return Response.json(await uploads.parts(upload));
  if (request.method === 'DELETE') {
    await uploads.abort(upload);
    return new Response();
  }
  const asked = (await request.json()) as { upload: typeof upload; size: number; ifAbsent?: boolean };
  return Response.json(await uploads.complete(asked.upload, asked));
}
