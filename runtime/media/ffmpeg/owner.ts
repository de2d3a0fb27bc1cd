import { readdir, readFile } from 'node:fs/promises';
import { fateOf, startOf } from '../../base/process-mark.ts';

/** The first variable of each process that is started here: the mark of its server. So nothing must be stored for a crash. */
export const markName = 'MILLRACE_FFMPEG_OF';

/** Kills the processes of servers that are dead (`kill -9`). Only Linux tells the variables of a process. Returns how many. */
export async function killOrphans(): Promise<number> {
  let killed = 0;
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const start = await startOf(pid);
    const variables = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    const [, owner] = variables.split('\0', 1)[0].split(`${markName}=`);
    if (owner === undefined || (await fateOf(owner)) !== 'dead') continue;
    // Its id may belong to another process by now.
    if ((await startOf(pid)) !== start) continue;
    try {
      process.kill(pid, 'SIGKILL');
      killed += 1;
    } catch {
      // It ended by itself just now.
    }
  }
  return killed;
}
