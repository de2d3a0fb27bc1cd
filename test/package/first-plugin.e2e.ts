/** docs/plugins/first-plugin.md, followed word by word by somebody outside. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { blocksIn } from '../docs/code-blocks.ts';
import { broadcast } from '../e2e/harness/ffmpeg.ts';
import { root } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';
import { findFreePorts } from '../kit/free-ports.ts';
import { outsideEnv, packedSite } from './packed.ts';

let site: Awaited<ReturnType<typeof packedSite>> | undefined;
// Thousands of files.
afterAll(() => site?.[Symbol.asyncDispose](), 240_000);

it('leads from an empty folder to a plugin that runs in a server', { timeout: 600_000 }, async () => {
  const page = 'first-plugin.md';
  const blocks = blocksIn(page, await readFile(join(root, 'docs/plugins', page), 'utf8'));
  site = await packedSite();
  const { folder } = site;
  const [http, rtmp] = await findFreePorts(2);
  const env = outsideEnv({
    ...{ MILLRACE_HTTP__PORT: String(http), MILLRACE_RTMP__PORT: String(rtmp) },
    npm_config_prefer_offline: 'true',
  });
  await using server = new AsyncDisposableStack();
  const printed: string[] = [];
  for (const { language, text } of blocks) {
    if (language === 'ts') {
      const [, name = ''] = /^\/\/ (\S+)\n/.exec(text) ?? [];
      await writeFile(join(folder, 'hall-of-fame', name), text);
    } else if (language === 'json') {
      await writeFile(join(folder, 'millrace.json'), text);
    } else if (text.includes('millrace start')) {
      const child = spawn('bash', ['-c', `exec ${text}`], { cwd: folder, env, stdio: 'ignore' });
      server.defer(async () => {
        child.kill();
        await once(child, 'exit');
      });
      await until('the server', async () => (await fetch(`http://127.0.0.1:${http}/health/ready`)).ok, {
        within: 30_000,
      });
    } else {
      const commands = text
        // It is in no registry yet: the folder has it already.
        .replace('npm install millrace\n', '')
        .replaceAll('localhost:8080', `127.0.0.1:${http}`);
      printed.push(await shell(commands, { cwd: folder, env }));
    }
  }
  expect(printed.at(-1)).toContain('{"broadcasts":0,"isStar":false}');

  // What the page then says.
  const { id, streamKey } = JSON.parse(await readFile(join(folder, 'stream.json'), 'utf8'));
  const key = (await readFile(join(folder, 'data/bootstrap-key'), 'utf8')).trim();
  await using _ = broadcast(`rtmp://127.0.0.1:${rtmp}/live/${streamKey}`);
  const url = `http://127.0.0.1:${http}/api/hall-of-fame/${id}`;
  const fame = async () => (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).json();
  await until('a star', async () => ((await fame()) as { isStar: boolean }).isStar, { within: 20_000 });
  expect(await fame()).toEqual({ broadcasts: 1, isStar: true });
});

/** What a terminal shows. Fails with it when a command fails. */
async function shell(
  commands: string,
  options: { cwd: string; env: Record<string, string> },
): Promise<string> {
  const child = spawn('bash', ['-ec', commands], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let shown = '';
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (chunk) => (shown += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${commands}\nended with ${code}:\n${shown}`);
  return shown;
}
