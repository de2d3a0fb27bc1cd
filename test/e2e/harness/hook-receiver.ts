import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface ReceivedHook {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The endpoints of hook-receiver-main.ts. `await using` ends it. */
export interface HookReceiver extends AsyncDisposable {
  /** Behaviour → URL. */
  readonly urls: Readonly<Record<string, string>>;
  /** Requests to one of them so far, in order. */
  received(name: string): readonly ReceivedHook[];
}

export async function startHookReceiver(): Promise<HookReceiver> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'hook-receiver-main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const received: ReceivedHook[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, string>>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = JSON.parse(line) as ReceivedHook & { urls?: Record<string, string> };
    if (said.urls) resolve(said.urls);
    else received.push(said);
  });
  child.on('exit', () => reject(new Error('the receiver ended')));
  const urls = await promise;
  return {
    urls,
    received: (name) => received.filter(({ path }) => path === `/${name}`),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
    },
  };
}
