import { expect } from 'vitest';
import { findFreePort } from '../../kit/free-ports.ts';
import { checkSnippets, codeOf, type Language } from '../harness/signature-code.ts';
import type { PageRun } from './page-run.ts';
import { file, type Step, sh, soon } from './steps.ts';

/** The code of the dashboard, and nothing else: one source. */
const signature = (name: string, language: string): Step =>
  file(name, (_, block) => expect(block.text).toBe(codeOf(language)));

const saysBeside = (run: PageRun, words: string) =>
  soon(words, () => run.left.beside.some(({ printed }) => printed.includes(words)));

/** A delivery of the server, as it came. */
async function delivered(run: PageRun) {
  const { api } = run.world.server;
  const secret = `whsec_${Buffer.from('twenty-four random bytes').toString('base64')}`;
  const received = Promise.withResolvers<{ headers: Record<string, string>; body: string }>();
  const http = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    async fetch(request) {
      received.resolve({ headers: Object.fromEntries(request.headers), body: await request.text() });
      return new Response(null, { status: 204 });
    },
  });
  run.own({ [Symbol.asyncDispose]: () => http.stop(true) });
  const webhook = { name: 'Signed', url: http.url.href, events: ['stream.started'], sharedSecret: secret };
  const { id } = (await (await api.request('POST', '/api/webhook', webhook)).json()) as { id: string };
  await api.request('POST', `/api/webhook/${id}/test`, { event: 'stream.started' });
  return { ...(await received.promise), secret };
}

/** Go is what S3 for tests is built with, so CI has it. */
const languages: readonly Language[] =
  process.env.CI || Bun.which('go') ? ['node', 'python', 'go', 'php'] : ['node', 'python', 'php'];

/** Steps of the pages about webhooks. */
export const hookPages: Record<string, readonly Step[]> = {
  'webhooks.md': [
    signature('signature.mjs', 'node'),
    {
      languages: ['js'],
      async run(run, block) {
        run.replace('3000', String(await findFreePort()));
        await file('receiver.mjs').run(run, block);
      },
    },
    sh({ check: (_, printed) => expect(printed.trim()).toMatch(/^whsec_[\w+/]{32}$/) }),
    sh({
      beside: (_, commands) => soon('the receiver', () => commands.printed.includes('listening on port')),
    }),
    sh({ check: (run) => expect(run.variable('WEBHOOK_ID')).toMatch(/^[\w-]{36}$/) }),
    sh({
      check: async (run, printed) => {
        expect(JSON.parse(printed)).toMatchObject({ success: true, response: { status: 204 } });
        await saysBeside(run, 'stream.started');
        const forged = await fetch(run.here('http://localhost:3000/hook'), { method: 'POST', body: '{}' });
        expect(forged.status).toBe(401);
      },
    }),
    sh({
      check: (_, printed) => {
        const entries = printed
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        // The one of the test; others are of broadcasts of this server.
        expect(entries).toContainEqual(
          expect.objectContaining({ event: 'stream.started', attempt: 0, success: true }),
        );
      },
    }),
    sh({
      during: async (run, commands) => {
        await soon('the beginning', () => commands.printed.length > 0);
        await run.world.server.api.request('POST', '/api/asset/request-upload', { name: 'Heard of' });
        await saysBeside(run, 'asset.created');
      },
    }),
  ],
  'webhook-signatures.md': [
    signature('signature.py', 'python'),
    signature('signature.go', 'go'),
    {
      languages: ['php'],
      async run(run, block) {
        await signature('signature.php', 'php').run(run, block);
        await checkSnippets(await delivered(run), languages);
      },
    },
  ],
};
