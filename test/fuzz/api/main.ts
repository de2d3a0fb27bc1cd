/**
 * Runs schemathesis, an API fuzzer of others, against the real server with a broadcast on the air: every check it has,
 * wrong data and chains of calls included. Anything that is not as `/openapi.json` says is a failure.
 *
 *     npm run fuzz -- api [seconds, default 600] [more arguments of schemathesis]
 *
 * It is a Python program: `pip install schemathesis==4.32.5`, on PATH, or named by SCHEMATHESIS=/path/to/schemathesis.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, startServer } from '../../e2e/harness/server.ts';
import { until } from '../../e2e/harness/wait.ts';
import { broadcast } from '../../kit/publisher/broadcast.ts';
import { readFlvFile } from '../../kit/publisher/flv-file.ts';

const program = process.env.SCHEMATHESIS ?? 'schemathesis';
const [seconds = '600', ...more] = process.argv.slice(2);
const found = spawnSync(program, ['--version'], { encoding: 'utf8' });
if (found.status !== 0) {
  console.error('fuzz api needs schemathesis: pip install schemathesis==4.32.5, or SCHEMATHESIS=/path/to/it');
  process.exit(2);
}
console.log(found.stdout.trim());

await using server = await startServer({ env: { MILLRACE_LOG__LEVEL: 'warn' } });
const stream = await server.api.createStream({ name: 'On the air' });
const clip = await readFlvFile(join(root, 'demo/clip.flv'));
const onAir = broadcast({ url: server.ingestUrl(stream.streamKey), clip, retry: true });
await onAir.started;
const [session] = await until(
  'a session',
  async () => {
    const sessions = await server.api.listSessions(stream.id);
    return sessions.length > 0 && sessions;
  },
  { within: 10_000 },
);
const folder = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'));
process.exitCode = await run();
await onAir.stop({ clean: true });
const complaints = server.output.split('\n').filter((line) => line.includes('"level":"error"'));
if (complaints.length > 0) {
  console.error(
    `the server logged ${complaints.length} errors, such as\n${complaints.slice(0, 5).join('\n')}`,
  );
  process.exitCode = 1;
}

rmSync(folder, { recursive: true });

async function run(): Promise<number> {
  const child = spawn(
    program,
    [
      ...[
        '--config-file',
        join(import.meta.dirname, 'schemathesis.toml'),
        'run',
        `${server.url}/openapi.json`,
      ],
      ...['--max-time', seconds, '--continue-on-failure', ...more],
    ],
    {
      stdio: 'inherit',
      // It keeps what it found in the folder it runs in, and begins with that the next time.
      cwd: folder,
      env: {
        ...process.env,
        MILLRACE_KEY: server.key,
        PLAYBACK_ID: stream.playbackId,
        SESSION_ID: session.id,
        SCHEMATHESIS_HOOKS: 'hooks',
        PYTHONPATH: import.meta.dirname,
        PYTHONDONTWRITEBYTECODE: '1',
      },
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
}
