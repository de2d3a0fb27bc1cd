import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { driversOf } from '../config/drivers.ts';
import { readConfig } from '../config/load.ts';
import { outdated } from '../config/outdated.ts';
import { importPlugins } from '../config/plugins.ts';
import { concealed, secretsOf } from '../config/secrets.ts';
import { cidr } from '../core/base/cidr.ts';
import { milliseconds } from '../core/base/duration.ts';
import { Fault } from '../core/base/fault.ts';
import { jsonLog } from '../core/base/log.ts';
import { freePort } from './base/free-port.ts';
import { type Booted, boot } from './boot/boot.ts';
import { prepareDataFolder } from './boot/data-folder.ts';
import { processLimits } from './boot/limits.ts';
import { openDrivers } from './boot/open-drivers.ts';
import { servicesOf } from './boot/open-services.ts';
import { planOf } from './boot/plan.ts';
import { welcome } from './boot/welcome.ts';
import { DiskWatch } from './disk/disk-watch.ts';
import { diskPlaces } from './disk/places.ts';
import { holdProcess } from './drivers/clock/hold.ts';
import { systemClock } from './drivers/clock/system.ts';
import { outboundClient } from './drivers/outbound/client.ts';
import { listen } from './http/listen.ts';
import { nodeClient } from './nodes/node-client.ts';
import { nodeGate } from './nodes/node-gate.ts';
import { ownUrl, shownUrl } from './nodes/own-url.ts';

/** What sysexits.h calls EX_CONFIG: the start was refused, and a restart will not help. */
const badConfig = 78;
/** What the engines that the config names are not fit for. */
const unfit = new Set([
  ...['config.invalid', 'boot.invalid', 'bus.partitions', 'bus.refused'],
  ...['store.partitions', 'store.log', 'store.unsafe', 'store.refused'],
]);
/** Of this deployment; nothing that is printed repeats them. */
const secrets: string[] = [];
const stopLimit = processLimits.stop.value;

/** Starts the program: config, plugins, listeners; ends it on SIGTERM and SIGINT. */
async function main(): Promise<void> {
  const clock = systemClock();
  const began = clock.now();
  const release = holdProcess();
  const { config, plugins } = await deployment();
  // Known from here on: plugins tell clients the ports before they are open.
  config.http.port ||= freePort(config.http.host);
  config.rtmp.port ||= freePort(config.rtmp.host);
  if (config.rtmp.tlsPort === 0) config.rtmp.tlsPort = freePort(config.rtmp.host);
  secrets.push(...secretsOf(config, plugins));
  const log = jsonLog({
    level: config.log.level,
    now: () => clock.now(),
    write: (line) => process.stderr.write(`${concealed(line, secrets)}\n`),
  });

  // Of a terminal that was closed, or a pipe that nobody reads any more: the lines are lost, and nothing else.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  for (const warning of outdated(config)) log.warn(warning);

  const fatal = (reason: string) => {
    log.error('the server must stop', { reason });
    process.exit(1);
  };
  await prepareDataFolder(config.dataDir);
  const drivers = driversOf(config);
  const { engines, ...opened } = await openDrivers(
    { ...config, drivers },
    { clock, log, onFailure: (error) => fatal(String(error)) },
  );
  const places = diskPlaces({ ...config, drivers });
  const disks = new DiskWatch(places, { clock, log });
  const { services, closeFfmpeg } = servicesOf(config, { clock, log, places, blobs: opened.blobs });
  const allow = config.outbound.allow.flatMap((text) => cidr(text) ?? []);
  const { requests } = config.outbound;
  const outbound = outboundClient({ clock, allow, limits: { requests } });
  const { secret } = config.node;
  const others = secret === undefined ? undefined : nodeClient({ clock, secret });
  let booted: Booted | undefined;
  let server: Awaited<ReturnType<typeof listen>> | undefined;
  let stopping: string | undefined;
  /** Until it is up: aborted when it is not to go on. */
  const starting = new AbortController();
  const stopped = (): never => {
    log.info('stopped');
    process.exit(0);
  };
  const end = async () => {
    booted?.setUnready();
    await booted?.stop();
    await server?.stop();
    others?.close();
    closeFfmpeg();
    stopped();
  };
  const stop = (signal: string) => {
    if (stopping !== undefined) return;
    stopping = signal;
    starting.abort();
    log.info('stopping', { signal });
    clock.at(clock.now() + stopLimit, () => {
      log.warn('what is left is cut off: stopping takes too long', { ms: stopLimit });
      stopped();
    });
    // While it starts, the start goes on to where it can be undone.
    if (booted) void end();
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  // Also what a terminal sends when it is closed, which ends no server.
  process.on('SIGHUP', () => log.info('SIGHUP is ignored: the config is read only at the start'));

  const publicUrl = config.publicUrl ?? shownUrl(config.http);
  const begun = boot({
    plugins,
    drivers: { ...opened, clock, outbound, disks },
    services,
    deployment: {
      publicUrl,
      dataDir: config.dataDir,
      bootstrapKey: config.bootstrapKey,
      rtmpPort: config.rtmp.port,
    },
    ...(config.node.ingestUrl !== undefined && { ingestUrl: config.node.ingestUrl }),
    ...(config.region !== undefined && { region: config.region }),
    isPublicUrlSet: config.publicUrl !== undefined,
    nodeId: config.node.id ?? 'local',
    nodeUrl: config.node.url ?? ownUrl(config.http),
    isAlone: drivers.bus === 'sqlite',
    ...(others && { askNode: others.ask }),
    roles: config.roles,
    nodeTimeout: milliseconds(config.node.timeout),
    partitions: config.kafka.partitions,
    hotActors: config.actors.hot,
    trustedProxies: config.http.trustedProxies.flatMap((text) => cidr(text) ?? []),
    ...(engines && { engines }),
    signal: starting.signal,
    log,
    onFatal: fatal,
  });

  booted = await begun.catch((error: unknown) => {
    // It waited for an engine, and nobody wants that any more.
    if (stopping !== undefined) stopped();
    throw error;
  });
  if (stopping !== undefined) return await end();
  const { app, internal, peers, stop: undo } = booted;
  const gate = secret === undefined ? {} : { gate: nodeGate({ app: internal, secret }) };
  server = await listen(app, { ...config.http, log, peers, ...gate }).catch(async (error: unknown) => {
    await undo();
    throw error;
  });
  release();
  if (process.env.MILLRACE_TEST === '1') process.on('SIGUSR2', () => Bun.gc(true));
  process.stdout.write(
    welcome({ booted, config, publicUrl, key: await shownKey(config), took: clock.now() - began }),
  );
  const rtmp = config.roles.includes('media') ? { rtmp: config.rtmp.port } : {};
  log.info('ready', { http: server.port, ...rtmp, ms: clock.now() - began });
}

/** Config and plugins, or one Fault with every problem of either. */
async function deployment() {
  const { config, problems, folder } = await readConfig(process.env);
  const imported = await importPlugins(config.plugins, folder);
  problems.push(...imported.problems, ...planOf(imported.plugins).problems);
  if (problems.length > 0) throw new Fault('config.invalid', { status: 500, message: problems });
  return { config, plugins: imported.plugins };
}

/** The key that was made at the first start, for a person at a terminal; what is kept in a log never has it. */
async function shownKey(config: { dataDir: string; bootstrapKey?: string }): Promise<string | undefined> {
  if (!process.stdout.isTTY || config.bootstrapKey !== undefined) return undefined;
  const text = await readFile(join(config.dataDir, 'bootstrap-key'), 'utf8').catch(() => '');
  return text.trim() || undefined;
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
