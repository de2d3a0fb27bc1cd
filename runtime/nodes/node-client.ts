import { cidr } from '../../core/base/cidr.ts';
import type { AskNode } from '../../core/plugin/nodes.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { OutboundStream } from '../../core/ports/outbound.ts';
import { outboundClient } from '../drivers/outbound/client.ts';
import { nodeHeader } from './node-gate.ts';

/** Under way at one time: blocked reloads of all viewers of this node. */
const requests = 8000;
const idleConnections = 2000;
const idlePerNode = 500;
/** Silence of another node within an answer, ms: longer than anything waits there. */
const silence = 35_000;
/** Bytes of one answer. */
const answerBytes = 64 * 1_048_576;

/**
 * Asks other nodes over kept connections. The client is that of webhooks, with the whole network open to it: where
 * nodes are is not for users to say. (`fetch` of Bun has 256 requests under way at most, and blocked reloads would
 * stand in the way of all others.)
 */
export function nodeClient(options: { clock: Clock; secret: string }): NodeClient {
  const { clock, secret } = options;
  const client = outboundClient({
    clock,
    allow: ['0.0.0.0/0', '::/0'].flatMap((text) => cidr(text) ?? []),
    limits: { requests, idleConnections, idlePerPlace: idlePerNode },
  });
  return {
    async ask(url, path, { signal, headers, body, method = 'GET' }) {
      const answer = await client.open(`${url}${path}`, {
        headers: { ...headers, [nodeHeader]: secret },
        method,
        ...(body && { body }),
        signal,
        timeout: 0,
        idleTimeout: silence,
        maxBytes: answerBytes,
      });
      if (!answer.ok) throw new Error(answer.message);
      const { status } = answer;
      return new Response(isEmpty(status) ? null : streamed(answer), { status, headers: answer.headers });
    },
    close: () => client.close(),
  };
}

export interface NodeClient {
  readonly ask: AskNode;
  close(): void;
}

/** Statuses whose answers have no body. */
function isEmpty(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

function streamed({ body }: OutboundStream): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const read = await body.read();
      if (read === undefined) controller.close();
      else if (read instanceof Uint8Array) controller.enqueue(read);
      else controller.error(new Error(read.message));
    },
    cancel: () => body.cancel(),
  });
}
