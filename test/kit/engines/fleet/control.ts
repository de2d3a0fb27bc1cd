import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { didYouMean } from '../../../../core/base/near-miss.ts';
import type { Engine } from '../engine.ts';

/** What can be done to a part of a fleet that runs. */
export const commands = ['restart', 'kill'] as const;
export type Command = (typeof commands)[number];

export interface Answer {
  readonly isDone: boolean;
  /** For a person. */
  readonly message: string;
}

/** Takes commands for these parts, one at a time, on a socket in the folder of the fleet. Returns its stop. */
export function takeCommands(options: {
  folder: string;
  parts: readonly Engine[];
  /** Called before the part is ended, and when it is done. */
  onBegin: (part: Engine, command: Command) => void;
  onEnd: (part: Engine, command: Command) => void;
}): () => void {
  const unix = socketIn(options.folder);
  rmSync(unix, { force: true });
  let last: Promise<unknown> = Promise.resolve();
  const server = Bun.serve({
    unix,
    async fetch(request, server) {
      // A start takes longer than the 10 s after which silence would end the request.
      server.timeout(request, 0);
      const [, command, name] = new URL(request.url).pathname.split('/').map(decodeURIComponent);
      const answer = last.then(() => run({ command: command as Command, name }, options));
      last = answer;
      return Response.json(await answer);
    },
  });
  return () => {
    void server.stop(true);
    rmSync(unix, { force: true });
  };
}

async function run(
  { command, name }: { command: Command; name: string },
  { parts, onBegin, onEnd }: Parameters<typeof takeCommands>[0],
): Promise<Answer> {
  const names = parts.map((part) => part.name);
  const part = parts.find((one) => one.name === name);
  if (!part) {
    const hint = didYouMean(name, names);
    return { isDone: false, message: `there is no "${name}" in this fleet, but ${names.join(', ')}${hint}` };
  }
  const began = performance.now();
  onBegin(part, command);
  try {
    await (command === 'kill' ? part.kill() : part.restart());
  } catch (error) {
    return { isDone: false, message: error instanceof Error ? error.message : String(error) };
  } finally {
    onEnd(part, command);
  }
  if (command === 'kill') {
    return {
      isDone: true,
      message: `${name} is killed. "npm run fleet -- restart ${name}" starts it again.`,
    };
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  return { isDone: true, message: `${name} has restarted on the same ports (${seconds} s).` };
}

/** Sends a command to the fleet that runs on the folder; undefined where none does. */
export async function sendCommand(
  { command, name }: { command: Command; name: string },
  { folder }: { folder: string },
): Promise<Answer | undefined> {
  const unix = socketIn(folder);
  if (!existsSync(unix)) return undefined;
  const url = `http://fleet/${command}/${encodeURIComponent(name)}`;
  const answer = await fetch(url, { unix, method: 'POST' }).catch(() => undefined);
  return answer && ((await answer.json()) as Answer);
}

/** Whether a fleet runs on the folder. */
export async function isRunning(folder: string): Promise<boolean> {
  const answer = await sendCommand({ command: 'restart', name: '' }, { folder });
  return answer !== undefined;
}

function socketIn(folder: string): string {
  return join(folder, 'fleet.sock');
}
