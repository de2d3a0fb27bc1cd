/**
 * Endpoints of webhooks in a process of their own, good and bad: each request is told as a line of JSON. Prints
 * `{"urls"}` first. Listens on 127.0.0.2, so that a deployment can allow it and refuse 127.0.0.1.
 */
import { certificates } from '../../outbound/certificates.ts';

const say = (line: unknown) => console.log(JSON.stringify(line));

const landing = Bun.serve({
  ...{ hostname: '127.0.0.1', port: 0 },
  fetch() {
    say({ path: '/landed' });
    return new Response('you should not be here');
  },
});

const answers: Record<string, () => Response | Promise<Response>> = {
  '/ok': () => new Response('thanks'),
  '/slow': () => Bun.sleep(1000).then(() => new Response('at last')),
  '/500': () => new Response('broken', { status: 500 }),
  '/404': () => new Response('what?', { status: 404 }),
  '/410': () => new Response('no more', { status: 410 }),
  '/redirect': () => Response.redirect(`http://127.0.0.1:${landing.port}/`, 302),
  '/never': () => new Promise<Response>(() => {}),
  '/endless': () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await Bun.sleep(1);
          controller.enqueue(new Uint8Array(4096).fill(0x61));
        },
      }),
    ),
};

async function fetch(request: Request): Promise<Response> {
  const { pathname: path } = new URL(request.url);
  say({ path, headers: Object.fromEntries(request.headers), body: await request.text() });
  return (await answers[path]?.()) ?? new Response(null, { status: 404 });
}

const plain = Bun.serve({ hostname: '127.0.0.2', port: 0, idleTimeout: 120, fetch });
const { good: cert, key } = certificates;
const secure = Bun.serve({ hostname: '127.0.0.2', port: 0, tls: { cert, key }, fetch });
const closed = Bun.serve({ hostname: '127.0.0.2', port: 0, fetch });
const nobody = closed.port;
await closed.stop(true);

const urls: Record<string, string> = {};
for (const path of Object.keys(answers)) urls[path.slice(1)] = `http://127.0.0.2:${plain.port}${path}`;
say({
  urls: { ...urls, down: `http://127.0.0.2:${nobody}/`, certificate: `https://127.0.0.2:${secure.port}/ok` },
});
