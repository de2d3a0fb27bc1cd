import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './server.ts';
import { until } from './wait.ts';

/** A user of `millrace` with a home of their own. Disposing ends what still runs. */
export interface CommandLine extends AsyncDisposable {
  readonly home: string;
  /** Runs a command to its end. */
  run(...words: readonly string[]): Promise<Ended>;
  /** Starts one that goes on. */
  start(words: readonly string[], options?: StartOptions): Running;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard input; default: nothing. */
  readonly input?: string;
}

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

export interface Running {
  readonly out: string;
  readonly error: string;
  /** Its lines of JSON so far. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
  readonly lines: readonly any[];
  /** Waits until it has printed this, on either output. */
  says(text: string | RegExp, options?: { within: number }): Promise<void>;
  /** As Ctrl+C does. */
  interrupt(): Promise<Ended>;
  ended(): Promise<Ended>;
}

export function commandLine(): CommandLine {
  const home = mkdtempSync(join(tmpdir(), 'millrace-home-'));
  const children: ChildProcess[] = [];
  const start = (words: readonly string[], { env = {}, input = '' }: StartOptions = {}): Running => {
    const child = spawn(process.execPath, ['--no-install', join(root, 'cli/main.ts'), ...words], {
      cwd: home,
      env: { PATH: process.env.PATH, HOME: home, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    children.push(child);
    const printed = { out: '', error: '' };
    child.stdout.on('data', (chunk) => (printed.out += chunk));
    child.stderr.on('data', (chunk) => (printed.error += chunk));
    child.stdin.end(input);
    const close = once(child, 'close');
    const ended = async () => {
      const [code] = await close;
      return { code, ...printed };
    };
    return {
      get out() {
        return printed.out;
      },
      get error() {
        return printed.error;
      },
      get lines() {
        return printed.out
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line));
      },
      async says(text, { within } = { within: 20_000 }) {
        const what = () => `${printed.out}${printed.error}`;
        const isThere = () => (typeof text === 'string' ? what().includes(text) : text.test(what()));
        await until(`${text} of millrace ${words[0]}`, () => isThere() || (hasEnded(child) && 'ended'), {
          within,
        });
        if (!isThere()) throw new Error(`millrace ${words.join(' ')} ended; it printed: ${what()}`);
      },
      interrupt() {
        child.kill('SIGINT');
        return ended();
      },
      ended,
    };
  };
  return {
    home,
    start,
    run: (...words) => start(words).ended(),
    async [Symbol.asyncDispose]() {
      for (const child of children) if (!hasEnded(child)) child.kill('SIGKILL');
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;
