import { vi } from 'vitest';
import { millrace as command } from '../../cli/commands.ts';

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** The command in this process: it must not depend on the folder that it is run in. */
export async function millrace(...words: readonly string[]): Promise<Ended> {
  const printed = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    vi.spyOn(process[name], 'write').mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    }),
  );
  try {
    const code = await command(words);
    return { code: code ?? -1, out: printed.stdout, error: printed.stderr };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
