import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What is run, or why there is nothing to run, in a few words. */
export type Finding = { program: string; missing?: undefined } | { missing: string; program?: undefined };

/** @param places folders that are looked into after those of the PATH */
export function firstOnPath(name: string, places: readonly string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...places];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What it prints, to either side. Fails with the end of that when its exit code is not 0. */
export async function outputOf(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const child = spawn(command[0], command.slice(1), {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (chunk) => (output += chunk));
  const code = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  if (code !== 0)
    throw new Error(
      `${command.slice(0, 3).join(' ')} ended with ${code}:\n${output.trimEnd().split('\n').slice(-15).join('\n')}`,
    );
  return output;
}
