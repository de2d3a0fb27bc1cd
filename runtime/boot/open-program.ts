import { driversOf } from '../../config/drivers.ts';
import type { Config } from '../../config/schema.ts';
import { cidr } from '../../core/base/cidr.ts';
import { milliseconds } from '../../core/base/config-fields.ts';
import type { Log } from '../../core/base/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Store } from '../../core/ports/store.ts';
import { type DescriptorShares, descriptorShares } from '../base/descriptors.ts';
import { outboundClient } from '../drivers/outbound/client.ts';
import { type Allowed, defaultOpenings, type Opening, portsOf } from '../drivers/outbound/openings.ts';
import { listen } from '../http/listen.ts';
import { nodeClient } from '../nodes/node-client.ts';
import { nodeGate } from '../nodes/node-gate.ts';
import { ownUrl, shownUrl } from '../nodes/own-url.ts';
import { type Booted, boot } from './boot.ts';
import { noteOpenFolder, prepareDataFolder } from './data-folder.ts';
import { DiskWatch, diskPlaces } from './disk-watch.ts';
import { openDrivers } from './open-drivers.ts';
import { servicesOf } from './open-services.ts';
import { type ConfiguredPlugin, planned } from './plan.ts';
import { blobsOfPlugin } from './plugin-drivers.ts';
import type { PluginTroubles } from './plugin-troubles.ts';
import type { AboutProgram } from './program-facts.ts';

/**
 * Starts the program that a config describes, up to where it serves HTTP. Faults name what is wrong and what to do; what had
 * started then is stopped.
 */
export async function openProgram(config: Config, options: ProgramOptions): Promise<Program> {
  const { clock, log, onFatal } = options;
  await prepareDataFolder(config.dataDir);
  await noteOpenFolder(config.dataDir, { log });
  const descriptors = await descriptorShares();
  noteFewDescriptors(config, { descriptors, log });
  const chosen = driversOf(config);
  const { engines, ...drivers } = await openDrivers(
    { ...config, drivers: chosen },
    {
      ...{ clock, log, onFailure: (error) => onFatal(String(error)) },
      blobsOfPlugin: (name, context) => blobsOfPlugin(name, { plan: planned(options.plugins), context }),
    },
  );
  const places = diskPlaces({ ...config, drivers: chosen });
  const disks = new DiskWatch(places, { clock, log });
  const admin = adminOf(drivers.store);
  const allow = allowedOf(config, admin.id);
  const { services, closeFfmpeg } = servicesOf(config, {
    ...{ clock, log, places, allow, blobs: drivers.blobs },
    ...(descriptors && { rtmpConnections: descriptors.rtmp }),
  });
  const outbound = outboundClient({ clock, allow, limits: { requests: config.outbound.requests } });
  const { secret } = config.node;
  const others = secret === undefined ? undefined : nodeClient({ clock, secret });
  const publicUrl = config.publicUrl ?? shownUrl(config.http);
  const trustedProxies = config.http.trustedProxies.flatMap((text) => cidr(text) ?? []);
  const booted = await boot({
    plugins: options.plugins,
    drivers: { ...drivers, clock, outbound, disks },
    services,
    deployment: {
      publicUrl,
      dataDir: config.dataDir,
      bootstrapKey: config.bootstrapKey,
      rtmpPort: config.rtmp.port,
    },
    ...(config.node.ingestUrl !== undefined && { ingestUrl: config.node.ingestUrl }),
    ...(config.region !== undefined && { region: config.region }),
    ...(config.secretsKey !== undefined && { secretsKey: config.secretsKey }),
    isPublicUrlSet: config.publicUrl !== undefined,
    nodeId: config.node.id ?? 'local',
    nodeUrl: config.node.url ?? ownUrl(config.http),
    isAlone: chosen.bus === 'sqlite',
    ...(others && { askNode: others.ask }),
    roles: config.roles,
    nodeTimeout: milliseconds(config.node.timeout),
    partitions: config.kafka.partitions,
    hotActors: config.actors.hot,
    trustedProxies,
    decisions: { ...config.decisions, timeout: milliseconds(config.decisions.timeout) },
    ...(engines && { engines }),
    ...{ signal: options.signal, troubles: options.troubles, about: options.about, log, onFatal },
  });
  await admin.look();
  let server: Awaited<ReturnType<typeof listen>> | undefined;
  const stop = async () => {
    await booted.stop();
    await server?.stop();
    others?.close();
    closeFfmpeg();
  };
  return {
    ...{ booted, publicUrl, stop },
    async serve() {
      const gate = secret === undefined ? {} : { gate: nodeGate({ app: booted.internal, secret }) };
      server = await listen(booted.app, {
        ...{ ...config.http, log, ...gate, trusted: trustedProxies },
        ...(descriptors && { connections: descriptors.http }),
      });
      return server.port;
    },
  };
}

/** The admin account, once there is one. It is looked up when it is asked for, and never changes. */
function adminOf(store: Store) {
  let id: string | undefined;
  let looking: Promise<void> | undefined;
  const look = (): Promise<void> => {
    looking ??= store.resources
      .find('account', 'role', 'admin')
      .then((row) => {
        id = row?.id;
      })
      // Until it is known, nobody is it.
      .catch(() => {})
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };
  return {
    look,
    id() {
      if (id === undefined) void look();
      return id;
    },
  };
}

/** What requests and pushes to addresses of users may reach beside the public network. */
function allowedOf(config: Config, admin: () => string | undefined): Allowed {
  const { outbound, redis, kafka, s3, http, node } = config;
  const engines = [redis.url, ...redis.sentinels.map(({ port }) => `redis:${port}`), ...kafka.brokers];
  const own = [`http:${http.port}`, node.url, s3.endpoint];
  const byDefault = defaultOpenings({ admin, ownPorts: portsOf([...engines, ...own]) });
  let allowed: { readonly from: readonly string[]; readonly opening: Opening } | undefined;
  // It may change while the program runs.
  return (owner) => {
    const from = outbound.allow;
    if (!from) return byDefault(owner);
    if (allowed?.from !== from)
      allowed = { from, opening: { blocks: from.flatMap((text) => cidr(text) ?? []) } };
    return allowed.opening;
  };
}

/** Says so when the system allows so few connections that an operator would notice. */
function noteFewDescriptors(
  { http, rtmp }: Config,
  { descriptors, log }: { descriptors: DescriptorShares | undefined; log: Log },
): void {
  if (!descriptors) return;
  if (descriptors.http >= http.connectionsPerAddress) return;
  log.warn('the system lets this process open few files: raise `ulimit -n`', {
    descriptors: descriptors.limit,
    httpConnections: descriptors.http,
    rtmpConnections: Math.min(descriptors.rtmp, rtmp.connections),
  });
}

export interface ProgramOptions {
  readonly plugins: readonly ConfiguredPlugin[];
  readonly clock: Clock;
  readonly log: Log;
  readonly troubles: PluginTroubles;
  readonly about: AboutProgram;
  /** Aborted when the program is to end while it starts. */
  readonly signal: AbortSignal;
  /** Something happened after which the process must end. */
  onFatal(reason: string): void;
}

export interface Program {
  readonly booted: Booted;
  /** What URLs begin with where there is no request. */
  readonly publicUrl: string;
  /** Opens the HTTP port and returns it. Faults `http.port_in_use`, `http.cannot_listen`. */
  serve(): Promise<number>;
  stop(): Promise<void>;
}
