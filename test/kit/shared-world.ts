import { afterAll } from 'vitest';
import { type World, world } from './world.ts';

/** One world for several tests of a block, for requests that change nothing in it: those that are refused. */
export function sharedWorld(options: Parameters<typeof world>[0]): () => Promise<World> {
  let one: Promise<World> | undefined;
  afterAll(async () => {
    await (await one)?.[Symbol.asyncDispose]();
  });
  return () => {
    one ??= world(options);
    return one;
  };
}
