import { readFileSync } from 'node:fs';
import { appendFile, stat, truncate } from 'node:fs/promises';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { encode } from './encoders.ts';

/** A film with sound, of a constant bitrate such as `300k`. */
export const makeFilm = (path: string, { seconds, bitrate }: { seconds: number; bitrate: string }) =>
  encode([
    ...['-f', 'lavfi', '-i', `testsrc2=size=640x360:rate=25:duration=${seconds}`],
    ...['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`, '-pix_fmt', 'yuv420p'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '50', '-b:v', bitrate, '-minrate', bitrate],
    ...['-maxrate', bitrate, '-bufsize', bitrate, '-x264-params', 'nal-hrd=cbr', '-c:a', 'aac', path],
  ]);

/** Makes an mp4 file so long by a box that players skip (ISO/IEC 14496-12 §8.1.2). The disk stores no zeros. */
export async function pad(path: string, length: number): Promise<void> {
  const { size } = await stat(path);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(length - size);
  head.write('free', 4);
  await appendFile(path, head);
  await truncate(path, length);
}

export interface FileServer {
  readonly url: string;
  /** Bodies of PUT requests by their path. */
  readonly put: Map<string, Buffer>;
  close(): void;
}

/** Answers each GET with `file`, and keeps what is put. */
export async function startFileServer(file: string): Promise<FileServer> {
  const put = new Map<string, Buffer>();
  const http: HttpServer = createServer(async (request, response) => {
    if (request.method === 'PUT') {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      put.set(request.url ?? '', Buffer.concat(parts));
      return response.end();
    }
    return response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, put, close: () => void http.close() };
}
