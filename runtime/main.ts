import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { outdated } from '../config/contradictions.ts';
import { reload, type Settings } from '../config/reload.ts';
import type { Config } from '../config/schema.ts';
import { concealed, secretsOf } from '../config/secrets.ts';
import { Fault } from '../core/base/fault.ts';
import { jsonLog, type Log } from '../core/base/log.ts';
import type { Clock } from '../core/ports/clock.ts';
import { freePort } from './base/free-port.ts';
import { readDeployment } from './boot/open-deployment.ts';
import { openProgram } from './boot/open-program.ts';
import type { ConfiguredPlugin } from './boot/plan.ts';
import { PluginTroubles } from './boot/plugin-troubles.ts';
import { bootstrapKeyOf, signInLink } from './boot/sign-in-link.ts';
import { originOf } from './boot/stray-errors.ts';
import { welcome } from './boot/welcome.ts';
import { holdProcess, systemClock } from './drivers/clock/system.ts';

/** What sysexits.h calls EX_CONFIG: the start was refused, and a restart will not help. */
const badConfig = 78;
/** What the engines that the config names are not fit for. */
const unfit = new Set([
  ...['config.invalid', 'boot.invalid', 'bus.partitions', 'bus.refused'],
  ...['store.partitions', 'store.log', 'store.unsafe', 'store.refused', 'store.older', 'secrets.key'],
]);
/** Of this deployment; nothing that is printed repeats them. */
const secrets: string[] = [];
/** ms of a whole stop: beyond it the process ends all the same, with what was acknowledged on disk. */
const stopLimit = 9_000;

/** Starts the program: reads the config, opens it, serves HTTP; ends it on SIGTERM and SIGINT. */
async function main(): Promise<void> {
  // Before anything is written: files of this process and of its ffmpeg are for its user alone.
  process.umask(0o077);
  const clock = systemClock();
  const began = clock.now();
  const release = holdProcess();
  const { config, plugins, about } = await deployment();
  const log = logOf(config, plugins);
  const fatal = (reason: string) => {
    log.error('the server must stop', { reason });
    process.exit(1);
  };
  const troubles = new PluginTroubles({ clock, log });
  noteStrayErrors({ plugins, troubles, log, fatal });
  const ending = stopOnSignals({ clock, log });
  const program = await openProgram(config, {
    ...{ plugins, clock, log, troubles, about, onFatal: fatal },
    signal: ending.signal,
  }).catch((error: unknown) => {
    // It waited for an engine, and was told to stop.
    if (ending.signal.aborted) exit(log);
    throw error;
  });
  ending.endBy(program.stop);
  if (ending.signal.aborted) return;
  ending.reloadBy(() => reloadConfig({ config, plan: program.booted.plan }, log));
  const port = await program.serve().catch(async (error: unknown) => {
    await program.stop();
    throw error;
  });
  release();
  if (process.env.MILLRACE_TEST === '1') process.on('SIGUSR2', () => Bun.gc(true));
  const took = clock.now() - began;
  const isCheckout = await stat(join(import.meta.dirname, '../demo')).then(
    () => true,
    () => false,
  );
  const key = await shownKey(config);
  const link = process.stdout.isTTY
    ? await signInLink(
        { app: program.booted.app, plugins: program.booted.plan.map(({ plugin }) => plugin) },
        config,
      )
    : undefined;
  const text = welcome({ ...program, config, key, link, isCheckout, took });
  process.stdout.write(concealed(text, secrets));
  const rtmp = config.roles.includes('media') ? { rtmp: config.rtmp.port } : {};
  log.info('ready', { http: port, ...rtmp, ms: clock.now() - began });
}

/**
 * Stops the program on SIGTERM and SIGINT, and reads its config again on SIGHUP. While it starts, `signal` is aborted, and the start goes on to where it can be undone:
 * `endBy` says how.
 */
function stopOnSignals({ clock, log }: { clock: Clock; log: Log }): {
  readonly signal: AbortSignal;
  endBy(stop: () => Promise<void>): void;
  /** Until then SIGHUP is told and ignored. */
  reloadBy(reload: () => Promise<void>): void;
} {
  const ending = new AbortController();
  let end: (() => Promise<void>) | undefined;
  const stop = (signal: string) => {
    if (ending.signal.aborted) return;
    log.info('stopping', { signal });
    clock.at(clock.now() + stopLimit, () => {
      log.warn('stopping takes too long; what is left is cut off', { ms: stopLimit });
      exit(log);
    });
    ending.abort();
    void end?.().then(() => exit(log));
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  let again = async () => log.info('SIGHUP is ignored while the server starts');
  let reloading: Promise<void> = Promise.resolve();
  // Also what a terminal sends when it is closed, which ends no server.
  process.on('SIGHUP', () => {
    reloading = reloading.then(again);
  });
  return {
    signal: ending.signal,
    endBy(how) {
      end = how;
      if (ending.signal.aborted) void how().then(() => exit(log));
    },
    reloadBy(how) {
      again = how;
    },
  };
}

/**
 * An error that no call is answered with ends the process only where it is the program's own: then nobody knows what still
 * works. One of a plugin is noted; plugins run in this process, and what they forgot to catch must not end everybody's.
 */
function noteStrayErrors(options: {
  plugins: readonly ConfiguredPlugin[];
  troubles: PluginTroubles;
  log: Log;
  fatal: (reason: string) => void;
}): void {
  const { plugins, troubles, log, fatal } = options;
  const note = (error: unknown) => {
    const { plugin, isOwn } = originOf(error, plugins);
    if (isOwn) {
      log.error('an error that nothing expected', { error });
      fatal(String(error));
    }
    troubles.tell(plugin, { where: 'outside any call', error });
  };
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
}

function exit(log: Log): never {
  log.info('stopped');
  process.exit(0);
}

/** The log on stderr, without the secrets of this deployment. */
function logOf(config: Config, plugins: readonly ConfiguredPlugin[]): Log {
  secrets.push(...secretsOf(config, plugins));
  const { now } = systemClock();
  const log = jsonLog({
    level: () => config.log.level,
    now,
    write: (line) => process.stderr.write(`${concealed(line, secrets)}\n`),
  });
  // Of a terminal that was closed, or a pipe that nobody reads any more: the lines are lost, and nothing else.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  for (const warning of outdated(config)) log.warn(warning);
  return log;
}

/** The deployment, with its ports known: plugins show clients the ports before they are open. */
async function deployment() {
  const { config, plugins, facts } = await readDeployment(process.env);
  config.http.port ||= freePort(config.http.host);
  config.rtmp.port ||= freePort(config.rtmp.host);
  if (config.rtmp.tlsPort === 0) config.rtmp.tlsPort = freePort(config.rtmp.host);
  const off = Object.keys(config.plugins).filter((id) => config.plugins[id] === false);
  return { config, plugins, about: { config: facts, off } };
}

/** Reads the config again, and says what came of it. With any problem nothing changes. */
async function reloadConfig(running: Settings, log: Log): Promise<void> {
  try {
    const fresh = await readDeployment(process.env);
    const { http, rtmp } = running.config;
    // Of ports that the system chose.
    fresh.config.http.port ||= http.port;
    fresh.config.rtmp.port ||= rtmp.port;
    if (fresh.config.rtmp.tlsPort === 0) fresh.config.rtmp.tlsPort = rtmp.tlsPort;
    secrets.push(...secretsOf(fresh.config, fresh.plugins).filter((secret) => !secrets.includes(secret)));
    const { changed, kept } = reload(running, fresh);
    if (kept.length > 0) log.warn('these keys of the config change only with a restart', { keys: kept });
    log.info('the config was read again', { changed });
  } catch (error) {
    const problems = error instanceof Fault ? error.problems : [String(error)];
    log.error('the config was read again and is wrong; nothing has changed', { problems });
  }
}

/** The key that was made at the first start, for a person at a terminal; what is kept in a log never has it. */
async function shownKey(config: { dataDir: string; bootstrapKey?: string }): Promise<string | undefined> {
  if (!process.stdout.isTTY || config.bootstrapKey !== undefined) return undefined;
  return bootstrapKeyOf(config.dataDir);
}

/** A start with this config would be refused again. */
function isUnfit(code: string): boolean {
  return unfit.has(code) || (code.startsWith('blobs.') && code !== 'blobs.unreachable');
}

function refused(error: unknown): never {
  if (error instanceof Fault) {
    const isConfig = isUnfit(error.code);
    const head = isConfig ? 'Millrace cannot start. Fix these config errors:' : 'Millrace cannot start:';
    const problems = error.problems.map((problem) => `  - ${concealed(problem, secrets)}\n`);
    process.stderr.write(`${head}\n${problems.join('')}`);
    process.exit(isConfig ? badConfig : 1);
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`Millrace cannot start: ${concealed(text, secrets)}\n`);
  process.exit(1);
}

main().catch(refused);
