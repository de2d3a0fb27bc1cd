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

/** A client of the API below `url`. Each call fails with method, path, status and body when it is not answered well. */
export function apiClient(url: string, options: { key: string }): Api {
  const request = (method: string, path: string, body?: unknown) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${options.key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(10_000),
    });
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await request(method, path, body);
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
