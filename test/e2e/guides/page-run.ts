import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CodeBlock } from '../../docs/code-blocks.ts';
import { root } from '../harness/server.ts';
import type { World } from './world.ts';

/** The blocks of one page, run in order as a reader does it: in one folder, with the variables of the blocks before. */
export interface PageRun extends AsyncDisposable {
  readonly world: World;
  readonly folder: string;
  /** A variable that a command has set. */
  variable(name: string): string;
  /** The text of a block with the addresses of this server, in the place of those of the documentation. */
  here(text: string): string;
  /** Lets `shown`, as the page has it, be `actual` in all blocks that follow. */
  replace(shown: string | RegExp, actual: string): void;
  write(name: string, text: string): void;
  /** Sets a variable for all commands that follow. */
  set(name: string, value: string): void;
  /** Starts the commands of a block. */
  start(block: CodeBlock, input?: string): Commands;
  /** What the blocks so far have left for those that follow. */
  readonly left: {
    /** Commands that go on. */
    readonly beside: Commands[];
    /** What the last commands have printed as their output, and the last page. */
    printed: string;
    html: string;
  };
  /** Is disposed with the run, or before. */
  own(resource: AsyncDisposable): void;
}

export interface Commands {
  /** On the standard output, and on both. */
  readonly output: string;
  readonly printed: string;
  readonly ended: Promise<number | null>;
  readonly isRunning: boolean;
  /** As Ctrl+C does. */
  interrupt(): Promise<void>;
}

const variables = '.variables';
/** Of what goes on until somebody ends it. */
const stopLimit = 5000;

export function pageRun(world: World): PageRun {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-guide-'));
  const replacements = new Map<string | RegExp, string>(world.replacements);
  const owned: AsyncDisposable[] = [];
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  };
  write('data/bootstrap-key', `${world.server.key}\n`);
  write(
    'bin/millrace',
    `#!/bin/sh\nexec ${process.execPath} --no-install ${join(root, 'cli/main.ts')} "$@"\n`,
  );
  chmodSync(join(folder, 'bin/millrace'), 0o755);
  write('bin/bun', `#!/bin/sh\nexec ${process.execPath} "$@"\n`);
  chmodSync(join(folder, 'bin/bun'), 0o755);
  for (const name of ['film.mp4', 'video.mp4']) copyFileSync(world.film, join(folder, name));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const here = (text: string) =>
    [...replacements].reduce((so, [shown, actual]) => so.replaceAll(shown, actual), text);

  const start = (block: CodeBlock, input = ''): Commands => {
    const script = `if [ -e ${variables} ]; then . ./${variables}; fi; set -a\n${here(block.text)}\nexport -p > ${variables}`;
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      // A group of its own, so that Ctrl+C reaches all of a pipeline.
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: `${folder}/bin:${process.env.PATH}`,
        ...{ HOME: folder, LANG: 'C.UTF-8' },
        // Players without a screen and a loudspeaker.
        ...{ SDL_VIDEODRIVER: 'dummy', SDL_AUDIODRIVER: 'dummy' },
      },
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    let [output, printed] = ['', ''];
    child.stdout.on('data', (chunk) => (output += chunk));
    for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (chunk) => (printed += chunk));
    const ended = once(child, 'close').then(([code]) => code as number | null);
    const commands = {
      get output() {
        return output;
      },
      get printed() {
        return printed;
      },
      ended,
      get isRunning() {
        return isRunning(child);
      },
      async interrupt() {
        kill(child, 'SIGINT');
        const hardStop = setTimeout(() => kill(child, 'SIGKILL'), stopLimit);
        await ended;
        clearTimeout(hardStop);
      },
    };
    owned.push({ [Symbol.asyncDispose]: commands.interrupt });
    return commands;
  };

  return {
    ...{ world, folder, here, write, start, left: { beside: [], printed: '', html: '' } },
    set(name, value) {
      appendFileSync(join(folder, variables), `declare -x ${name}=${JSON.stringify(value)}\n`);
    },
    variable(name) {
      const text = existsSync(join(folder, variables)) ? readFileSync(join(folder, variables), 'utf8') : '';
      const [, value] = new RegExp(`^declare -x ${name}="(.*)"$`, 'm').exec(text) ?? [];
      if (value === undefined) throw new Error(`no command has set ${name}; they set:\n${text}`);
      return value;
    },
    replace: (shown, actual) => void replacements.set(shown, actual),
    own: (resource) => void owned.push(resource),
    async [Symbol.asyncDispose]() {
      await Promise.all(owned.map((resource) => resource[Symbol.asyncDispose]()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isRunning = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;

function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), signal);
  } catch {
    // The group is gone already.
  }
}
