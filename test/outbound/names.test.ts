import { createSocket } from 'node:dgram';
import { getServers, setServers } from 'node:dns';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { resolver } from '../../runtime/drivers/outbound/resolver.ts';
import { type Target, target } from '../../runtime/drivers/outbound/target.ts';

/** The system's own lookup, against a name server of ours. */
const v4 = [93, 184, 216, 34];
let server: ReturnType<typeof createSocket>;
let former: string[];
const asked = new Set<string>();

beforeEach(async () => {
  former = getServers();
  asked.clear();
  server = createSocket('udp4');
  server.on('message', (query, { port, address }) => {
    const { name, type, end } = question(query);
    asked.add(name);
    if (!name.startsWith('silent')) server.send(answer(query, { type, end }), port, address);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  setServers([`127.0.0.1:${server.address().port}`]);
});
afterEach(async () => {
  setServers(former);
  await new Promise<void>((resolve) => server.close(resolve));
});

function names() {
  return resolver({ allow: [], clock: systemClock() });
}

test('names come with the addresses of both families', async () => {
  expect(await names().resolve(to('both.example'))).toEqual([v4.join('.'), '2606:2800::1']);
});

test('names whose servers are silent hold up no other name', async () => {
  const { resolve } = names();
  let silent = 0;
  // Far more than this process has threads; in waves, because a burst may be more than the name server's socket takes.
  for (let wave = 0; wave < 10; wave += 1) {
    for (let n = 0; n < 20; n += 1, silent += 1) void resolve(to(`silent-${wave}-${n}.example`));
    expect(await resolve(to(`good-${wave}.example`))).toContain(v4.join('.'));
  }
  expect([...asked].filter((name) => name.startsWith('silent'))).toHaveLength(silent);
});

function to(host: string): Target {
  const read = target(`https://${host}/`);
  if (!read.ok) throw new Error(read.message);
  return read;
}

/** RFC 1035 §4.1.2 */
function question(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (; query[at] > 0; at += query[at] + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** One address (RFC 1035 §4.1, RFC 3596 §2.2). */
function answer(query: Buffer, { type, end }: { type: number; end: number }): Buffer {
  const head = Buffer.from([query[0], query[1], 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
  const address = type === 1 ? v4 : [0x26, 0x06, 0x28, 0x00, ...Array<number>(11).fill(0), 1];
  const record = [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, address.length, ...address];
  return Buffer.concat([head, query.subarray(12, end), Buffer.from(record)]);
}
