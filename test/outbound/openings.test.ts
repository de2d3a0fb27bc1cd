import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { outboundClient } from '../../runtime/drivers/outbound/client.ts';
import { defaultOpenings, portsOf } from '../../runtime/drivers/outbound/openings.ts';
import { resolver } from '../../runtime/drivers/outbound/resolver.ts';

const http = createServer((request, response) => {
  request.resume();
  response.end('here');
});
let port: number;
beforeAll(async () => {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  ({ port } = http.address() as AddressInfo);
});
afterAll(() => {
  http.closeAllConnections();
  http.close();
});

const clock = systemClock();
const openings = (ownPorts: readonly number[] = []) =>
  defaultOpenings({ admin: () => 'admin', ownPorts: new Set(ownPorts) });

it('opens loopback for the admin account and the operator, and for nobody else', async () => {
  const client = outboundClient({ clock, allow: openings() });
  const [own, local] = [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`];
  for (const url of [own, local]) {
    for (const owner of ['admin', undefined]) {
      const request = owner === undefined ? {} : { owner };
      expect(client.problem(url, request)).toBeUndefined();
      expect(await client.request(url, request)).toMatchObject({ ok: true, status: 200 });
    }
    // The connection of the admin account is kept, and is nobody else's.
    const refused = { ok: false, reason: 'refused' };
    expect(client.problem(url, { owner: 'other' })).toMatchObject(refused);
    expect(await client.request(url, { owner: 'other' })).toMatchObject(refused);
  }
  for (const url of ['http://10.0.0.1/', 'http://169.254.169.254/'])
    expect(client.problem(url, { owner: 'admin' })).toMatchObject({ reason: 'refused' });
  client.close();
});

it('opens no port of the deployment itself, not even for the admin account', async () => {
  const client = outboundClient({ clock, allow: openings([port]) });
  for (const url of [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`]) {
    const refused = { ok: false, message: expect.stringContaining("this deployment's own") };
    expect(client.problem(url, { owner: 'admin' })).toMatchObject(refused);
    expect(await client.request(url, { owner: 'admin' })).toMatchObject(refused);
  }
  client.close();
});

it('asks for the owner where a name turns out to be loopback', async () => {
  const names = resolver({ clock, allow: openings([6379]), lookup: async () => ['127.0.0.1'] });
  const to = { host: 'inside.example.com', isAddress: false, origin: 'it' };
  expect(await names.resolve({ ...to, port: 1935 }, 'admin')).toEqual(['127.0.0.1']);
  for (const [at, owner] of [
    [1935, 'other'],
    [6379, 'admin'],
  ] as const)
    expect(await names.resolve({ ...to, port: at }, owner)).toMatchObject({ reason: 'refused' });
});

it('finds the ports of engines in their addresses', () => {
  const places = ['redis://me:pass:7@redis:6380', 'redis://redis', 'kafka:9092', '[::1]:9093', undefined];
  const urls = ['http://10.0.0.7:8080', 'https://s3.example.com', 'http://minio:9000/x'];
  expect([...portsOf([...places, ...urls])]).toEqual([6380, 6379, 9092, 9093, 8080, 443, 9000]);
});
