import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../config/load.ts';
import { enabledPlugins } from '../config/plugins.ts';
import { milliseconds } from '../core/duration.ts';
import { Fault } from '../core/fault.ts';
import { jsonLog } from '../core/log.ts';
import { boot } from './boot.ts';
import { systemClock } from './drivers/clock/system.ts';
import { sqliteStore } from './drivers/store/sqlite/index.ts';
import { listen } from './listen.ts';
import { inProcessMedia } from './media/in-process.ts';
import { welcome } from './welcome.ts';

/** What sysexits.h calls EX_CONFIG: the start was refused, and a restart will not help. */
const badConfig = 78;
/** Longest a stop may take, ms; then the process ends all the same. */
const stopLimit = 9_500;

/** Starts the program: config, plugins, listeners; ends it on SIGTERM and SIGINT. */
async function main(): Promise<void> {
  const clock = systemClock();
  const began = clock.now();
  const config = await loadConfig(process.env);
  const log = jsonLog({
    level: config.log.level,
    now: () => clock.now(),
    write: (line) => process.stderr.write(`${line}\n`),
  });
  const plugins = await enabledPlugins(config);
  await mkdir(config.dataDir, { recursive: true });

  const fatal = (reason: string) => {
    log.error('the server must stop', { reason });
    process.exit(1);
  };
  const store = sqliteStore({
    file: join(config.dataDir, 'millrace.db'),
    onFailure: (e) => fatal(String(e)),
  });
  const media = inProcessMedia({
    clock,
    log,
    rtmp: config.rtmp,
    tls: config.tls,
    hls: { window: milliseconds(config.hls.window), waitingRequests: config.hls.waitingRequests },
  });
  const publicUrl = config.publicUrl ?? `http://localhost:${config.http.port}`;
  const booted = await boot({
    plugins,
    drivers: { store, clock, media },
    deployment: {
      publicUrl,
      dataDir: config.dataDir,
      bootstrapKey: config.bootstrapKey,
      rtmpPort: config.rtmp.port,
    },
    nodeId: config.node.id,
    nodeTimeout: milliseconds(config.node.timeout),
    partitions: config.kafka.partitions,
    hotActors: config.actors.hot,
    log,
    onFatal: fatal,
  });

  let server: Awaited<ReturnType<typeof listen>> | undefined;
  let stopping = false;
  const stop = async (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info('stopping', { signal });
    booted.setUnready();
    clock.at(clock.now() + stopLimit, () => process.exit(0));
    await booted.stop();
    await server?.stop();
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));

  server = await listen(booted.app, config.http).catch(async (error: unknown) => {
    await booted.stop();
    throw error;
  });
  if (process.env.MILLRACE_TEST === '1') process.on('SIGUSR2', () => Bun.gc(true));
  process.stdout.write(welcome({ booted, config, publicUrl, took: clock.now() - began }));
  log.info('ready', { http: server.port, rtmp: config.rtmp.port, ms: clock.now() - began });
}

function refused(error: unknown): never {
  if (error instanceof Fault) {
    const isConfig =
      error.code === 'config.invalid' || error.code === 'boot.invalid' || error.code === 'store.partitions';
    const head = isConfig
      ? 'Millrace cannot start. Please mend this in the config:'
      : 'Millrace cannot start:';
    process.stderr.write(`${head}\n${error.problems.map((problem) => `  - ${problem}\n`).join('')}`);
    process.exit(isConfig ? badConfig : 1);
  }
  process.stderr.write(
    `Millrace cannot start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
}

main().catch(refused);
