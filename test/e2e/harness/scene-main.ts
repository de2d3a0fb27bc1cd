/** Opens the scene, prints its facts as JSON, and keeps it until it is ended. */
import { openScene } from './scene.ts';

// From the start: the servers of a scene that is being opened end with it too.
const ended = new Promise<void>((resolve) => {
  process.once('SIGTERM', resolve);
  process.once('SIGINT', resolve);
});
await using scene = await openScene();
const { full, empty, bare } = scene.servers;
console.log(
  JSON.stringify({ full: full.url, empty: empty.url, bare: bare.url, key: full.key, ids: scene.ids }),
);
await ended;
