import { hasCode } from '../../../core/base/fault.ts';
import { hold } from '../../../core/http/hold.ts';
import type { NodeBody } from '../../../core/plugin/nodes.ts';
import type { AssetsKit } from '../config.ts';
import { lengthOf } from '../uploads/tries.ts';
import { noLength, notFound } from './faults.ts';
import { turnWait } from './turn.ts';

/** A node without a heartbeat for so long does not come back with its uploads, ms. */
const nodeGone = 10 * 60_000;

/**
 * Forwards a request to the node that has the upload, and returns its answer. A PATCH is streamed, as fast as that node reads. Fault
 * `upload.not_found` if the node is gone for good, `node.unreachable` (503) if it may come back.
 */
export async function askedElsewhere(
  { node, path, headers }: UploadOfNode,
  { request, method, kit }: { request: Request; method: 'GET' | 'HEAD' | 'PATCH' | 'DELETE'; kit: AssetsKit },
): Promise<Response> {
  const { clock } = kit;
  const { nodes } = kit.deployment;
  const body = method === 'PATCH' ? bodyOf(request) : undefined;
  const letGo = hold(request);
  try {
    const answer = await nodes.request(node, path, {
      method,
      headers: { ...pick(request.headers, ofRequest), ...headers },
      // Ends when this node stops, or when the client disconnects.
      signal: AbortSignal.any([kit.signal, request.signal]),
      ...(body && { body, timeout: 0 }),
      ...(!body && { timeout: turnWait * 2 }),
    });
    return new Response(answer.body, { status: answer.status, headers: pick(answer.headers, ofAnswer) });
  } catch (error) {
    if (!hasCode(error, 'node.unreachable')) throw error;
    const known = await nodes.find(node);
    const isGone = !known || (!known.isAlive && clock.now() - known.heardAt > nodeGone);
    throw isGone ? notFound : error;
  } finally {
    letGo();
  }
}

interface UploadOfNode {
  readonly node: string;
  /** Below `/internal/`. */
  readonly path: string;
  /** In addition to those of the client. */
  readonly headers?: Readonly<Record<string, string>>;
}

const ofRequest = ['tus-resumable', 'upload-offset', 'content-type', 'upload-length', 'content-range'];
const ofAnswer = [
  ...['content-type', 'retry-after', 'tus-version', 'range'],
  ...['upload-offset', 'upload-length', 'upload-expires', 'upload-metadata'],
];

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}

function bodyOf(request: Request): NodeBody {
  const length = lengthOf(request);
  if (length === undefined) throw noLength;
  return {
    length,
    async *chunks() {
      const reader = request.body?.getReader();
      try {
        while (reader) {
          const { done, value } = await reader.read();
          if (done) return;
          yield value;
        }
      } finally {
        reader?.cancel().catch(() => {});
      }
    },
  };
}
