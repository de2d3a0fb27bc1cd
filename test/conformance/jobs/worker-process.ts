import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ChildOptions {
  readonly url: string;
  readonly namespace: string;
  readonly node: string;
  readonly kind: string;
  /** ms. */
  readonly lease: number;
  /** ms that a job takes. */
  readonly work: number;
  readonly concurrency: number;
}

/** A node of its own that runs jobs. */
export interface WorkerProcess extends AsyncDisposable {
  /** Every attempt that it began, in order. */
  readonly begun: { readonly id: string; readonly attempt: number }[];
  readonly ready: Promise<void>;
  kill(): Promise<void>;
}

export function workerProcess(options: ChildOptions): WorkerProcess {
  const script = fileURLToPath(new URL('./worker-child.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const begun: { id: string; attempt: number }[] = [];
  let onReady = () => {};
  const ready = new Promise<void>((resolve, reject) => {
    onReady = resolve;
    child.once('exit', (code, signal) => reject(new Error(`the worker ended with ${code ?? signal}`)));
  });
  ready.catch(() => {});
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    if (line === 'ready') return onReady();
    const [id, attempt] = line.split(' ') as [string, string];
    begun.push({ id, attempt: Number(attempt) });
  });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  };
  return { begun, ready, kill, [Symbol.asyncDispose]: kill };
}
