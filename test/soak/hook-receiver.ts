/**
 * A receiver of webhooks that loses nothing: each request it takes is on disk before it is answered 2xx. One in ten is
 * answered 500 instead. Arguments: file, port, share of failures. Lines of the file: `<seen|taken> <webhook-id>`.
 */
import { fdatasync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

const [file = '', port = '0', failures = '0.1'] = process.argv.slice(2);
const log = openSync(file, 'a');
const sync = promisify(fdatasync);
/** The sync under way, and the one that begins after it: whoever writes waits for the latter. */
let running = Promise.resolve();
let next: Promise<void> | undefined;

function synced(): Promise<void> {
  next ??= running.then(() => {
    next = undefined;
    running = sync(log);
    return running;
  });
  return next;
}

const server = Bun.serve({
  ...{ hostname: '127.0.0.1', port: Number(port), idleTimeout: 60 },
  async fetch(request) {
    const id = request.headers.get('webhook-id');
    const { id: named } = (await request.json()) as { id: string };
    if (named !== id) return new Response('the ids differ', { status: 400 });
    const isTaken = Math.random() >= Number(failures);
    // First attempts are told by their order here, taken or not.
    writeSync(log, `${isTaken ? 'taken' : 'seen'} ${id}\n`);
    await synced();
    return new Response(null, { status: isTaken ? 204 : 500 });
  },
});
console.log(`listening ${server.port}`);
