import type { Kit, PlayQuestion } from 'millrace/plugin';
import { durationSchema, milliseconds, object, regularly, services, streams } from 'millrace/plugin';
import { type Count, flush } from './rows.ts';

const description = 'A viewer who fetched nothing for this long begins a new session.';
export const config = object({ pause: durationSchema(description, { default: '30s', atLeast: '10s' }) });

/** How often counts are written, ms: a crash loses no more. */
const turn = 5000;
/** Viewers that are remembered; of more, nobody is counted. */
const mostViewers = 200_000;
const topic = 'views/seen';

/** What one node saw since it said so last, by video. `streamId`: of what is live. */
type Seen = Record<string, { account: string; streamId: string | null; viewers: string[] }>;
/** `nodes`: those among which the node that saw the viewers divides them. */
type Message = { readonly nodes: readonly string[]; readonly seen: Seen };

/**
 * The viewers that this process counts. Each node tells all nodes every few seconds which viewers it saw, and one of them counts a
 * viewer, whichever nodes serve it. So nobody is counted twice.
 */
export class ViewerCount {
  readonly #kit: Kit<typeof config>;
  #seen: Seen = {};
  /** Of what is in `#seen`: `viewer video`. */
  readonly #known = new Set<string>();
  /** When any node saw a viewer last: `viewer video` → epoch ms. */
  readonly #last = new Map<string, number>();
  readonly #counts = new Map<string, Count>();
  #heard: Promise<void> = Promise.resolve();

  constructor(kit: Kit<typeof config>) {
    this.#kit = kit;
  }

  /** Called for every playlist and segment. */
  saw({ playbackId, sessionId, assetId, account, streamId, kind, viewer }: PlayQuestion): void {
    const video = playbackId ?? sessionId ?? assetId ?? '';
    const key = `${viewer} ${video}`;
    if (this.#known.has(key) || this.#known.size >= mostViewers) return;
    this.#known.add(key);
    this.#seen[video] ??= { account, streamId: (kind === 'live' && streamId) || null, viewers: [] };
    this.#seen[video].viewers.push(viewer.slice(0, 16));
  }

  start(): () => Promise<void> {
    const { clock, log } = this.#kit;
    const unlisten = this.#kit.use(services.volatile).listen(topic, (message) => {
      this.#heard = this.#heard.then(() => this.#hear(message as unknown as Message)).catch(() => {});
    });
    const failed = (error: unknown) => log.warn('views could not be written; they will be', { error });
    const stop = regularly(turn, { clock, work: () => this.#turn(), failed });
    return async () => {
      await stop();
      await this.#turn().catch(failed);
      unlisten();
    };
  }

  async #turn(): Promise<void> {
    const { clock, deployment, resources, config } = this.#kit;
    const nodes = (await deployment.nodes.list()).flatMap(({ id, isAlive }) => (isAlive ? [id] : []));
    const seen = this.#seen;
    this.#seen = {};
    this.#known.clear();
    if (Object.keys(seen).length > 0) await this.#kit.use(services.volatile).announce(topic, { nodes, seen });
    await this.#heard;
    const now = clock.now();
    for (const [key, at] of this.#last) if (at < now - milliseconds(config.pause)) this.#last.delete(key);
    const { id, incarnation } = deployment.node;
    await flush(this.#counts, { process: `${id}/${incarnation}`, resources, now });
  }

  async #hear({ nodes, seen }: Message): Promise<void> {
    const now = this.#kit.clock.now();
    const { id } = this.#kit.deployment.node;
    for (const [video, { account, streamId, viewers }] of Object.entries(seen)) {
      // Players ask for the playlist of a stream that is off the air, too.
      if (streamId !== null && !(await this.#kit.use(streams).current(streamId))?.isActive) continue;
      for (const viewer of viewers) {
        const key = `${viewer} ${video}`;
        const last = this.#last.get(key);
        if (last === undefined && this.#last.size >= mostViewers) continue;
        // Every node remembers when a viewer was seen; the one that the viewer belongs to counts.
        this.#last.set(key, now);
        if (nodes[Buffer.from(viewer, 'base64url').readUInt32BE() % nodes.length] !== id) continue;
        const count = this.#counts.get(video) ?? { account, sessions: 0, watchMs: 0 };
        if (last === undefined) count.sessions += 1;
        else count.watchMs += now - last;
        this.#counts.set(video, count);
      }
    }
  }
}
