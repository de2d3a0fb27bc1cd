import { afterEach, expect } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import { jsonLog } from '../../../core/base/log.ts';
import { Metrics } from '../../../core/base/metrics.ts';
import type { NodeRequest } from '../../../core/plugin/nodes.ts';
import type { StreamsKit } from '../../../plugins/streams/config.ts';
import { edgeProxy } from '../../../plugins/streams/edge/proxy.ts';
import { useOf } from '../../kit/use.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';

export const playbackId = '6pukxh2m0ydr9h3q';
export const playlist = 'source.m3u8';
export const part = 'abcdef012345_part7.1.mp4';

/** A request that a node got, held until the test answers it. */
export interface Asked {
  readonly node: string;
  readonly path: string;
  readonly options: NodeRequest;
  answer(body: string, init?: ResponseInit): void;
  fail(error: Error): void;
}

/** The edge proxy of node `edge`, of which the test plays the other nodes, the store and the viewers. */
function station(options: { relayMemory?: number } = {}) {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const asked: Asked[] = [];
  const lines: string[] = [];
  const stop = new AbortController();
  const place = { node: 'a' as string | undefined, isActive: true, fails: false, reads: 0 };
  const own = { has: false };
  const dead = new Set<string>();
  const media = {
    serve: () => (own.has ? new Response('own') : undefined),
    appears: async () => own.has,
  };
  const nodes = {
    own: { id: 'edge' },
    find: async (id: string) => ({ id, isAlive: !dead.has(id) }),
    request: (node: string, path: string, given: NodeRequest) =>
      new Promise<Response>((resolve, reject) => {
        given.signal.addEventListener('abort', () => reject(new Error('aborted')));
        asked.push({
          ...{ node, path, options: given },
          answer: (body, init = {}) => {
            const headers = {
              'content-type': 'x/y',
              'content-length': String(body.length),
              ...init.headers,
            };
            resolve(new Response(body, { ...init, headers }));
          },
          fail: reject,
        });
      }),
  };
  const kit = {
    clock,
    log: jsonLog({ level: 'debug', now: () => 0, write: (line) => lines.push(line) }),
    metrics: new Metrics(),
    signal: stop.signal,
    config: { relayMemory: options.relayMemory ?? 64 },
    // As plugins offer them.
    offered: () => [{ name: 'thumbnail.jpg' }],
    use: useOf({ media }),
    resources: {
      async find() {
        place.reads += 1;
        if (place.fails) throw new Fault('store.unknown', { status: 503, message: 'no answer' });
        const feeder = place.node === undefined ? null : { node: place.node, incarnation: 'i' };
        return { body: JSON.stringify({ feeder, isActive: place.isActive }) };
      },
    },
    deployment: { nodes },
  };
  const served = edgeProxy(kit as unknown as StreamsKit);
  const view = (file: string, given: { query?: string; viewer?: string; signal?: AbortSignal } = {}) => {
    const { signal = new AbortController().signal, viewer } = given;
    const query = new URLSearchParams(given.query ?? '');
    const viewers = viewer === undefined ? {} : { viewers: [viewer] };
    const request = { playbackId, file, query, signal, ...viewers };
    return served.serve(request).then(
      async (response) => ({
        status: response.status,
        text: await response.text(),
        headers: response.headers,
      }),
      (fault: Fault) => ({ status: fault.status, text: fault.code, headers: new Headers() }),
    );
  };
  const settle = () => clock.advance(0);
  return { clock, asked, lines, place, own, dead, kit, view, settle, metrics: kit.metrics, stop };
}

export const unreachable = new Fault('node.unreachable', { status: 503, message: 'dead' });

/** Answers what begins the station of a test. When the test ends, nothing of it may be under way. */
export function stations(): typeof station {
  let current: ReturnType<typeof station> | undefined;
  afterEach(() => {
    expect(current?.clock.pending()).toBe(0);
    current = undefined;
  });
  return (options) => {
    current = station(options);
    return current;
  };
}
