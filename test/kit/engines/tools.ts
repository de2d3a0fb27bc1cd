import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** Makes sure that these are on the machine, as scripts/tools.sh calls them. What it prints goes to stderr; so do its reasons to fail. */
export async function installTools(names: readonly string[]): Promise<void> {
  const child = spawn('sh', [join(import.meta.dirname, '../../../scripts/tools.sh'), ...names], {
    stdio: ['ignore', 2, 2],
  });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`${names.join(', ')}: not on this machine, and could not be installed`);
}
