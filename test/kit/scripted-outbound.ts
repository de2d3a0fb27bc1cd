import { cidr } from '../../core/base/cidr.ts';
import type {
  Outbound,
  OutboundAnswer,
  OutboundFailure,
  OutboundRequest,
} from '../../core/ports/outbound.ts';
import { outboundClient } from '../../runtime/drivers/outbound/client.ts';

type Receiver = (
  url: string,
  request: OutboundRequest,
) => Partial<OutboundAnswer> | OutboundFailure | Promise<Partial<OutboundAnswer> | OutboundFailure>;

/** The Outbound port without sockets: tests say how each URL answers. */
export interface ScriptedOutbound extends Outbound {
  /** Everything that was sent, oldest first. */
  readonly sent: readonly { readonly url: string; readonly request: OutboundRequest }[];
  /** URLs that begin with `prefix` are answered by `receiver` from now on; the longest prefix counts. */
  answer(prefix: string, receiver: Receiver): void;
}

/** A URL that nobody answers cannot be connected to. */
export function scriptedOutbound(): ScriptedOutbound {
  const receivers = new Map<string, Receiver>();
  const sent: { url: string; request: OutboundRequest }[] = [];
  let isClosed = false;
  // Whoever gives a URL or a header that nobody could send is told so here too.
  const everywhere = outboundClient({
    clock: { now: () => 0, at: () => () => {} },
    allow: ['0.0.0.0/0', '::/0'].flatMap((text) => cidr(text) ?? []),
  });

  const request: Outbound['request'] = async (url, given = {}) => {
    if (isClosed) return { ok: false, reason: 'aborted', message: 'the server is stopping' };
    given.onStart?.();
    sent.push({ url, request: given });
    const prefix = [...receivers.keys()]
      .filter((one) => url.startsWith(one))
      .sort((a, b) => b.length - a.length)[0];
    const receiver = prefix === undefined ? undefined : receivers.get(prefix);
    if (!receiver) return { ok: false, reason: 'connect', message: `nobody answers ${url}` };
    const answer = await receiver(url, given);
    if (answer.ok === false) return answer;
    const plain = { status: 200, headers: {}, body: new Uint8Array(), url, redirects: 0 };
    return { ...plain, isCut: false, trailers: {}, ...answer, ok: true };
  };

  return {
    sent,
    answer: (prefix, receiver) => void receivers.set(prefix, receiver),
    problem: (url, given) => everywhere.problem(url, given),
    request,
    async open(url, given) {
      const answer = await request(url, given);
      if (!answer.ok) return answer;
      const { body: bytes, isCut: _, trailers: __, ...head } = answer;
      let received = 0;
      const read = async () => {
        if (received === bytes.length) return undefined;
        received = bytes.length;
        return bytes;
      };
      const body = {
        read,
        cancel: () => {},
        get received() {
          return received;
        },
      };
      return { ...head, length: bytes.length, body };
    },
    close() {
      isClosed = true;
    },
  };
}
