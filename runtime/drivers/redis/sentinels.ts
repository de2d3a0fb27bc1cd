import { type Redis, textOf, unreachable } from './failures.ts';

/** Where Redis is. */
export interface RedisPlace {
  /** `redis://`, `rediss://` or `unix://`, with user, password and database as is usual. */
  readonly url: string;
  /** Authority that signed its certificate, as PEM. Default: those of the system. */
  readonly ca?: string | undefined;
  /** URLs of sentinels, which say at which host and port the primary of this name is; the rest is as `url` has it. */
  readonly sentinels?: readonly string[] | undefined;
  readonly primary?: string | undefined;
}

/**
 * The URL of the primary as the first sentinel has it that answers, within `ms` each. Without sentinels it is that of the config.
 * Fault `store.unreachable` when none knows it.
 */
export async function primaryOf(
  { url, ca, sentinels = [], primary = 'mymaster' }: RedisPlace,
  { redis, ms }: { redis: Redis; ms: number },
): Promise<string> {
  if (sentinels.length === 0) return url;
  const reasons: string[] = [];
  for (const sentinel of sentinels) {
    const client = redis.createClient({
      url: sentinel,
      socket: {
        ...{ reconnectStrategy: false, connectTimeout: ms, socketTimeout: ms },
        ...(ca !== undefined && sentinel.startsWith('rediss:') && { tls: true, ca }),
      },
    });
    client.on('error', () => {});
    try {
      await client.connect();
      const found = await client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', primary]);
      const [host, port] = (found ?? []) as unknown as string[];
      if (host !== undefined && port !== undefined) {
        const at = new URL(url);
        at.host = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
        return at.href;
      }
      reasons.push(`it knows no "${primary}"`);
    } catch (error) {
      reasons.push(textOf(error));
    } finally {
      client.destroy();
    }
  }
  throw unreachable(`no sentinel tells the primary: ${reasons.join('; ')}`);
}
