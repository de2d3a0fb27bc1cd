import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Engine, startEngine } from './engines/engine.ts';
import { answersPing, fetchRedis } from './engines/redis.ts';

/** A Redis Sentinel that watches one primary alone, and gives it up after a second. */
export async function startSentinel(primary: {
  name: string;
  port: number;
}): Promise<Engine & { url: string }> {
  const program = await fetchRedis();
  const { engine, place } = await startEngine(
    {
      name: 'sentinel',
      portCount: 1,
      async prepare({ folder, ports }) {
        const file = join(folder, 'sentinel.conf');
        const lines = [
          ...['bind 127.0.0.1', `port ${ports[0]}`, `dir ${folder}`],
          `sentinel monitor ${primary.name} 127.0.0.1 ${primary.port} 1`,
          `sentinel down-after-milliseconds ${primary.name} 1000`,
          `sentinel failover-timeout ${primary.name} 5000`,
        ];
        writeFileSync(file, lines.join('\n'));
        return { command: [program, file, '--sentinel'] };
      },
      isReady: ({ ports }) => answersPing(ports[0]!),
    },
    {},
  );
  return Object.assign(engine, { url: `redis://127.0.0.1:${place.ports[0]}` });
}
