import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CidProfile } from '../../core/ports/packer.ts';
import { packFile } from '../../runtime/drivers/packer/pack-file.ts';
import { type FormPart, formParts } from './form-data.ts';

/** What was pinned. */
export interface Pin {
  readonly cid: string;
  /** `pinataMetadata.name`. */
  readonly name: string;
  /** Of `pinFileToIPFS`. */
  readonly filename?: string;
  readonly bytes: Buffer;
}

/** How one request is answered in place of what it asks for. `sent`: the body as far as it has come. */
export type PinningTrouble = (
  response: ServerResponse,
  options: { readonly request: IncomingMessage; readonly body: () => Promise<Buffer> },
) => void | Promise<void>;

/** A pinning service with the calls of Pinata, over real HTTP: it takes what that would take, and nothing else. */
export interface PinningService extends AsyncDisposable {
  readonly url: string;
  readonly pins: readonly Pin[];
  /** Paths of all requests, those that were refused among them. */
  readonly asked: readonly string[];
  /** The next requests are answered so, one each. */
  trouble(...next: PinningTrouble[]): void;
}

export interface PinningOptions {
  readonly jwt?: string;
  readonly apiKey?: string;
  readonly apiSecret?: string;
}

export async function pinningService(accepts: PinningOptions): Promise<PinningService> {
  const pins: Pin[] = [];
  const asked: string[] = [];
  const troubles: PinningTrouble[] = [];

  const pinned = async (request: IncomingMessage, body: Buffer): Promise<Pin> => {
    const { pathname, search } = new URL(request.url ?? '', 'http://x');
    if (request.method !== 'POST' || search !== '') throw new Error(`${request.method} ${request.url}`);
    if (request.headers['content-length'] !== String(body.length)) throw new Error('no Content-Length');
    if (pathname === '/pinning/pinFileToIPFS')
      return pinFile(formParts(request.headers['content-type'], body));
    if (pathname !== '/pinning/pinJSONToIPFS') throw new Error(pathname);
    if (request.headers['content-type'] !== 'application/json') throw new Error('content type');
    const { pinataContent, pinataMetadata, pinataOptions, ...others } = JSON.parse(body.toString());
    if (pinataContent === undefined || Object.keys(others).length > 0) throw new Error(body.toString());
    const bytes = Buffer.from(JSON.stringify(pinataContent));
    return { bytes, ...(await described(bytes, { metadata: pinataMetadata, options: pinataOptions })) };
  };

  const answered = async (request: IncomingMessage, response: ServerResponse) => {
    asked.push(request.url ?? '');
    const body = async () => {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece);
      return Buffer.concat(pieces);
    };
    const trouble = troubles.shift();
    if (trouble) return trouble(response, { request, body });
    if (!isLetIn(request, accepts)) {
      const error = {
        reason: 'INVALID_CREDENTIALS',
        details: `we do not know ${JSON.stringify(request.headers)}`,
      };
      return answer(response, 401, { error });
    }
    try {
      const pin = await pinned(request, await body());
      const isDuplicate = pins.some(({ cid }) => cid === pin.cid);
      pins.push(pin);
      answer(response, 200, {
        IpfsHash: pin.cid,
        PinSize: pin.bytes.length,
        Timestamp: '2026-01-01T00:00:00.000Z',
        isDuplicate,
      });
    } catch (error) {
      answer(response, 400, { error: { reason: 'INVALID_REQUEST', details: String(error) } });
    }
  };
  const server = createServer(answered);
  // Whoever asks before he sends is told first whether he is let in.
  server.on('checkContinue', (request, response) => {
    if (troubles.length > 0 || isLetIn(request, accepts)) response.writeContinue();
    void answered(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    ...{ pins, asked },
    trouble: (...next) => void troubles.push(...next),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** As a service answers. */
export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
  response.end(JSON.stringify(body));
}

/** The CID of these bytes as one file. */
export async function cidOf(bytes: Uint8Array, profile: CidProfile = 'unixfs-v1-2025'): Promise<string> {
  const content = (async function* () {
    yield bytes;
  })();
  const sink = { append() {}, overwrite() {} };
  return (await packFile(content, { profile, sink })).cid;
}

async function pinFile(parts: readonly FormPart[]): Promise<Pin> {
  const { pinataMetadata, pinataOptions, file, ...others } = Object.fromEntries(
    parts.map((part) => [part.name, part]),
  );
  if (!file || Object.keys(others).length > 0) throw new Error(`parts: ${parts.map(({ name }) => name)}`);
  if (file.filename === undefined || file.type !== 'application/octet-stream') throw new Error('not a file');
  const json = (part: FormPart | undefined) => (part ? JSON.parse(part.bytes.toString()) : undefined);
  const about = await described(file.bytes, { metadata: json(pinataMetadata), options: json(pinataOptions) });
  return { bytes: file.bytes, filename: file.filename, ...about };
}

async function described(bytes: Buffer, { metadata, options }: { metadata: unknown; options: unknown }) {
  const { name, ...more } = metadata as { name: string };
  const { cidVersion, ...others } = options as { cidVersion: number };
  if (typeof name !== 'string' || name.length > 245) throw new Error(`the name ${name}`);
  if (Object.keys({ ...more, ...others }).length > 0) throw new Error(JSON.stringify({ metadata, options }));
  return { name, cid: await cidOf(bytes, cidVersion === 1 ? 'unixfs-v1-2025' : 'unixfs-v0-2015') };
}

function isLetIn({ headers }: IncomingMessage, { jwt, apiKey, apiSecret }: PinningOptions): boolean {
  if (headers.authorization !== undefined)
    return jwt !== undefined && headers.authorization === `Bearer ${jwt}`;
  if (apiKey === undefined) return false;
  return headers.pinning_api_key === apiKey && headers.pinning_secret_api_key === apiSecret;
}
