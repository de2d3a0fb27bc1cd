import { createHash, timingSafeEqual } from 'node:crypto';
import { Fault } from '../../core/base/fault.ts';
import { faultResponse, type HttpCore } from '../../core/http/http.ts';

/** Where a node says the secret that makes it one. */
export const nodeHeader = 'x-millrace-node';
const below = '/internal/';

/** Answers below `/internal/` those who know the secret, and refuses all others; undefined for any other path. */
export function nodeGate(options: { app: Pick<HttpCore, 'fetch'>; secret: string }): NodeGate {
  const { app } = options;
  const secret = digest(options.secret);
  return (request) => {
    // Most requests are not for it, and need not be taken apart.
    if (!request.url.includes(below) || !new URL(request.url).pathname.startsWith(below)) return undefined;
    const given = request.headers.get(nodeHeader);
    if (given === null) return faultResponse(noSecret);
    if (!timingSafeEqual(digest(given), secret)) return faultResponse(wrongSecret);
    // For the server, which counts connections per address (runtime/http/listen.ts).
    (request as Request & { isOfNode?: boolean }).isOfNode = true;
    return app.fetch(request);
  };
}

export type NodeGate = (request: Request) => Response | Promise<Response> | undefined;

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const noSecret = new Fault('node.secret_missing', {
  status: 401,
  message: 'Only nodes of this deployment are answered here.',
});
const wrongSecret = new Fault('node.secret_wrong', {
  status: 403,
  message: 'This is not the secret of the nodes of this deployment (node.secret).',
});
