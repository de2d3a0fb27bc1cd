import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CidProfile } from '../../core/ports/packer.ts';
import { formParts } from './form-data.ts';
import { answer, cidOf } from './pinning-service.ts';

/** The RPC of a Kubo node as far as exports use it: answers, errors and trailers as Kubo 0.42 gives them. */
export interface KuboNode extends AsyncDisposable {
  readonly url: string;
  readonly added: readonly {
    readonly cid: string;
    readonly pinName: string | null;
    readonly bytes: Buffer;
  }[];
  /** What `add` says in place of what it was asked. */
  trouble(next: (response: ServerResponse) => void): void;
  version: string;
}

export async function kuboNode(): Promise<KuboNode> {
  const added: { cid: string; pinName: string | null; bytes: Buffer }[] = [];
  const troubles: ((response: ServerResponse) => void)[] = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
    if (request.method !== 'POST') return answer(response, 405, '405 - Method Not Allowed');
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    if (pathname === '/api/v0/version')
      return answer(response, 200, { Version: node.version, System: 'amd64/linux' });
    if (pathname !== '/api/v0/add') return answer(response, 404, 'not found');
    const trouble = troubles.shift();
    if (trouble) return trouble(response);
    const [file, ...others] = formParts(request.headers['content-type'], Buffer.concat(pieces));
    if (file?.filename === undefined || others.length > 0)
      return failed(response, 'file argument is required');
    const profile = profileOf(searchParams);
    if (profile === undefined) return failed(response, `unexpected: ${searchParams}`);
    const cid = await cidOf(file.bytes, profile);
    added.push({ cid, pinName: searchParams.get('pin-name'), bytes: file.bytes });
    events(response, { body: [{ Name: file.filename, Hash: cid, Size: String(file.bytes.length) }] });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const node: KuboNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    added,
    trouble: (next) => void troubles.push(next),
    version: '0.42.0',
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return node;
}

/** An answer of events, line by line. `late`: what went wrong when the status was said. */
export function events(
  response: ServerResponse,
  { body, late }: { body: readonly unknown[]; late?: string },
): void {
  response.writeHead(200, {
    'content-type': 'application/json',
    'x-chunked-output': '1',
    trailer: 'X-Stream-Error',
  });
  for (const event of body) response.write(`${JSON.stringify(event)}\n`);
  if (late !== undefined) response.addTrailers({ 'X-Stream-Error': late });
  response.end();
}

/** As Kubo says it before it has said anything else. */
export function failed(response: ServerResponse, message: string, status = 500): void {
  answer(response, status, { Message: message, Code: 0, Type: 'error' });
}

const settings: Readonly<Record<CidProfile, string>> = {
  'unixfs-v1-2025': 'cid-version=1&raw-leaves=true&chunker=size-1048576&max-file-links=1024',
  'unixfs-v0-2015': 'cid-version=0&raw-leaves=false&chunker=size-262144&max-file-links=174',
};
const common = 'hash=sha2-256&trickle=false&inline=false&pin=true&progress=false&wrap-with-directory=false';

/** A query with anything else in it is none. */
function profileOf(given: URLSearchParams): CidProfile | undefined {
  const asked = [...given].filter(([name]) => name !== 'pin-name').map((pair) => pair.join('='));
  return (Object.keys(settings) as CidProfile[]).find(
    (profile) => `${settings[profile]}&${common}`.split('&').toSorted().join() === asked.toSorted().join(),
  );
}
