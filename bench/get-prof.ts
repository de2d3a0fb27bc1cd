import { world, bootstrapKey } from '../test/kit/world.ts';
import { allPlugins } from '../test/kit/all-plugins.ts';
await using w = await world({ plugins: await allPlugins(), durable: true });
const ids: string[] = [];
for (let i = 0; i < 300; i++) ids.push((await w.given.stream({ name: `s${i}` })).id);
const tok = await w.request('POST', '/api/api-token', { body: { name: 'k' } });
const run = async (n: number, key: string) => {
  const c0 = process.cpuUsage();
  for (let i = 0; i < n; i++) {
    const r = await w.app.handle(new Request(`http://localhost:8080/api/stream/${ids[i % 300]}`, { headers: { authorization: `Bearer ${key}` } }));
    if (r.status !== 200) throw new Error(String(r.status));
    await r.text();
  }
  const c = process.cpuUsage(c0);
  return (c.user + c.system) / n;
};
await run(20000, bootstrapKey);
for (let k = 0; k < 3; k++) console.log('bootstrap', (await run(50000, bootstrapKey)).toFixed(1), 'api key', (await run(50000, tok.body.key)).toFixed(1));
import { createHash } from 'node:crypto';
import { sqliteStore } from '../runtime/drivers/store/sqlite/index.ts';
const cost = async (name: string, n: number, f: (i: number) => unknown) => { for (let i=0;i<3000;i++) await f(i); const c0 = process.cpuUsage(); for (let i=0;i<n;i++) await f(i); const c = process.cpuUsage(c0); console.log(name.padEnd(30), (c.user/n).toFixed(2), (c.system/n).toFixed(2)); };
const row = await w.store.resources.get('api-token', tok.body.id);
const hash = createHash('sha256').update(tok.body.key).digest().toString('hex');
await cost('get', 50000, (i) => w.store.resources.get('stream', ids[i % 300]));
await cost('find', 50000, (i) => w.store.resources.find('api-token', 'hash', hash));
await cost('hash', 50000, () => createHash('sha256').update(tok.body.key).digest());
await cost('crypto.hash', 50000, () => Bun.SHA256.hash(tok.body.key));
const body = (await w.store.resources.get('stream', ids[0]))!.body; console.log(body.length, body, row?.body);
await cost('parse', 50000, () => JSON.parse(body));
const o = JSON.parse(body);
await cost('stringify', 50000, () => JSON.stringify(o));
await cost('await', 50000, async () => 1);
import { Elysia } from 'elysia';
const bare = new Elysia().get('/api/stream/:id', ({ params }) => ({ ...o, id: params.id }));
await cost('bare', 50000, async (i) => { const r = await bare.fetch(new Request(`http://localhost:8080/api/stream/${ids[i % 300]}`, { headers: { authorization: `Bearer x` } })); await r.text(); });
