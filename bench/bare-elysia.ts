import { Elysia } from 'elysia';

/** The least that Elysia can answer `GET /api/stream/:id` with: what bench/api.ts compares with. */
const document = JSON.parse(process.env.BARE_DOCUMENT ?? '{}');
const app = new Elysia().get('/api/stream/:id', ({ params }) => ({ ...document, id: params.id }));
const server = Bun.serve({ port: Number(process.env.BARE_PORT), hostname: '127.0.0.1', fetch: app.fetch });
console.log(`listening on ${server.port}`);
