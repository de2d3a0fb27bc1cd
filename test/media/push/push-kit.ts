/** A broadcast that is pushed to one target. */
import { order, Stage } from './stage.ts';

export const ONE = order('one');

export async function onAir(limits?: ConstructorParameters<typeof Stage>[0]) {
  const stage = new Stage(limits);
  const broadcast = stage.broadcast();
  broadcast.begin();
  await broadcast.play({ ms: 500 });
  return { stage, broadcast };
}
