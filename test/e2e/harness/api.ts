import type { OpenApi } from '../../../runtime/http/openapi/document.ts';
import { documentedBy } from '../../kit/documented.ts';

/** What the tests read of a stream object, and of a session. */
export interface Stream {
  id: string;
  name: string;
  parentId?: string;
  streamKey?: string;
  playbackId: string;
  isActive: boolean;
  record?: boolean;
  isHealthy?: boolean;
  issues?: string[];
  viewerCount?: number;
  createdAt: number;
}

export interface NewStream extends Stream {
  streamKey: string;
}

export interface Api {
  createStream(body: { name: string } & Record<string, unknown>): Promise<NewStream>;
  getStream(id: string): Promise<Stream>;
  listSessions(id: string): Promise<Stream[]>;
  patchStream(id: string, body: Record<string, unknown>): Promise<void>;
  deleteStream(id: string): Promise<void>;
  terminate(id: string): Promise<void>;
  /** Any other call; the answer as it is, whatever its status. */
  request(method: string, path: string, body?: unknown): Promise<Response>;
}

/**
 * A client of the API below `url`. Each call fails with method, path, status and body when it is not answered well, and
 * when its answer is not as the server's own `/openapi.json` says.
 */
export function apiClient(url: string, options: { key: string }): Api {
  let check: ReturnType<typeof documentedBy> | undefined;
  const request = async (method: string, path: string, body?: unknown, key?: string) => {
    const asked = new Request(url + path, {
      method,
      headers: {
        authorization: `Bearer ${options.key}`,
        'content-type': 'application/json',
        ...(key && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
    const answer = await fetch(asked);
    check ??= documentedBy((await (await fetch(`${url}/openapi.json`)).json()) as OpenApi);
    const isJson = answer.headers.get('content-type')?.startsWith('application/json');
    const problems = await check(asked, isJson ? answer.clone() : answer);
    if (problems.length > 0) throw new Error(`not as in /openapi.json: ${problems.join('; ')}`);
    return answer;
  };
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    // As our client does: on a fleet whose partitions have just changed hands, one attempt may get 503.
    const key = method === 'POST' ? crypto.randomUUID() : undefined;
    let response = await request(method, path, body, key);
    for (let tries = 1; key !== undefined && response.status === 503 && tries < 5; tries += 1) {
      await Bun.sleep(1000 * Number(response.headers.get('retry-after') ?? 1));
      response = await request(method, path, body, key);
    }
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  };
  return {
    createStream: (body) => call('POST', '/api/stream', body),
    getStream: (id) => call('GET', `/api/stream/${id}`),
    listSessions: (id) => call('GET', `/api/stream/${id}/sessions`),
    patchStream: (id, body) => call('PATCH', `/api/stream/${id}`, body),
    deleteStream: (id) => call('DELETE', `/api/stream/${id}`),
    terminate: (id) => call('DELETE', `/api/stream/${id}/terminate`),
    request,
  };
}
