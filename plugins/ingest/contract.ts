import type { Caller } from '../../core/http/caller.ts';
import type { KnownNode } from '../../core/plugin/nodes.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { collection } from '../../core/plugin/token.ts';

/** Where to broadcast to and to watch from. */
export interface IngestAddress {
  /** RTMP, without the stream key. */
  readonly ingest: string;
  /** HLS. */
  readonly playback: string;
  readonly base: string;
  /** Three letters, where the deployment names its regions. */
  readonly region?: string;
}

/** In which countries addresses are. */
export interface Countries {
  /** The deployment has a location database. Otherwise all countries are unknown. */
  readonly hasDatabase: boolean;
  /** ISO 3166-1 alpha-2; undefined where it is unknown. */
  countryOf(address: string | undefined): string | undefined;
}

/** One entry, while the plugin is on. */
export const countries = collection<Countries>('ingest.countries');

/** Nearest to the caller first; none while no node takes broadcasts. Faults `store.*` (503). */
export type IngestAddresses = (caller: Caller) => Promise<readonly IngestAddress[]>;

/**
 * The living nodes that take broadcasts; all of them play everything. First those in the region of this node, this node before
 * others, then by id. Nodes behind one balancer have the same address, which is listed once.
 */
export function nodeAddresses({ deployment }: Pick<Kit, 'deployment'>): IngestAddresses {
  return async ({ baseUrl }) => {
    const { nodes } = deployment;
    const { own } = nodes;
    const found = new Map<string, IngestAddress>();
    const media = (await nodes.list()).filter(({ isAlive, roles }) => isAlive && roles.includes('media'));
    const distance = ({ id, region }: KnownNode) => (id === own.id ? 0 : 1) + (region === own.region ? 0 : 2);
    for (const { ingestUrl, region } of media.toSorted((a, b) => distance(a) - distance(b))) {
      // A single node has one only if the config says so; in a fleet each node has one.
      const ingest = ingestUrl ?? (deployment.isAlone ? ownIngest(baseUrl, deployment) : undefined);
      if (ingest === undefined || found.has(ingest)) continue;
      const address = { ingest, playback: `${baseUrl}/hls`, base: baseUrl };
      found.set(ingest, region === undefined ? address : { ...address, region });
    }
    return [...found.values()];
  };
}

function ownIngest(baseUrl: string, { rtmpPort }: Pick<Kit['deployment'], 'rtmpPort'>): string {
  return `rtmp://${new URL(baseUrl).hostname}:${rtmpPort}/live`;
}
