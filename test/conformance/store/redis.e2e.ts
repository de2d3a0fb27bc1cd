import { afterAll, beforeAll } from 'vitest';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { type RedisServer, redisServer } from '../../kit/redis-server.ts';
import { storeConformance } from './suite.ts';

let server: RedisServer;
let number = 0;

beforeAll(async () => {
  server = await redisServer();
});
afterAll(() => server.remove());

storeConformance('redis', async () => {
  const namespace = `check-${++number}`;
  let current = redisStore({ url: server.url, namespace });
  return {
    store: current,
    async reopen() {
      await current.close();
      current = redisStore({ url: server.url, namespace });
      return current;
    },
    close: () => current.close(),
  };
});
