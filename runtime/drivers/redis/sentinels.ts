import { type Redis, textOf, unreachable } from './failures.ts';

/** Where Redis is. */
export interface RedisPlace {
  /** `redis://`, `rediss://` or `unix://`, with user, password and database as is usual. */
  readonly url: string;
  /** Authority that signed its certificate, as PEM. Default: those of the system. */
  readonly ca?: string | undefined;
  /** They say at which host and port the primary of this name is; the rest is as `url` has it. */
  readonly sentinels?: readonly Sentinel[] | undefined;
  readonly master?: string | undefined;
}

interface Sentinel {
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/**
 * The URL of the primary as the first sentinel has it that answers, within `ms` each. Without sentinels it is that of the config.
 * Fault `store.unreachable` when none knows it.
 */
export async function primaryOf(
  { url, ca, sentinels = [], master = 'mymaster' }: RedisPlace,
  { redis, ms }: { redis: Redis; ms: number },
): Promise<string> {
  if (sentinels.length === 0) return url;
  const reasons: string[] = [];
  const isSecure = url.startsWith('rediss:');
  for (const { host: at, port: on, username, password } of sentinels) {
    const client = redis.createClient({
      socket: {
        ...{ host: at, port: on, reconnectStrategy: false, connectTimeout: ms, socketTimeout: ms },
        ...(isSecure && { tls: true, ...(ca !== undefined && { ca }) }),
      },
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
    });
    client.on('error', () => {});
    try {
      await client.connect();
      const found = await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master]);
      const [host, port] = (found ?? []) as unknown as string[];
      if (host !== undefined && port !== undefined) {
        const primary = new URL(url);
        primary.host = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
        return primary.href;
      }
      reasons.push(`it knows no "${master}"`);
    } catch (error) {
      reasons.push(textOf(error));
    } finally {
      client.destroy();
    }
  }
  throw unreachable(`no sentinel tells the primary: ${reasons.join('; ')}`);
}
