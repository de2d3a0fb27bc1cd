/** What a node does. Every role serves `/health/*`, `/metrics` and playback. */
export type Role = 'api' | 'media' | 'actors' | 'worker';

export const allRoles: readonly Role[] = ['api', 'media', 'actors', 'worker'];

/** A node, as its row tells. */
export interface NodeInfo {
  readonly id: string;
  /** New with each process. */
  readonly incarnation: string;
  /** Where other nodes reach it, without a trailing slash; undefined when it has said none. */
  readonly url: string | undefined;
  readonly roles: readonly Role[];
  /** Where encoders reach it, without the stream key; undefined when it takes no broadcasts, or is the only node. */
  readonly ingestUrl: string | undefined;
  /** Three letters, where its config names a region. */
  readonly region: string | undefined;
  /** Its last heartbeat, epoch ms by its own clock: to be shown, never to be compared with the clock of another machine. */
  readonly aliveAt: number;
}

export interface KnownNode extends NodeInfo {
  /**
   * It was heard of within `node.timeout`, counted by this process's clock while it could read the store, and is not
   * declared dead.
   */
  readonly isAlive: boolean;
  /** When this process heard of it last, by its own clock: epoch ms. */
  readonly heardAt: number;
}

/** The nodes of the deployment, this one among them. */
export interface Nodes {
  readonly own: NodeInfo;
  /** The newest process of a node id. Read from the store when this process has not heard of it. Faults `store.*` (503). */
  find(id: string): Promise<KnownNode | undefined>;
  /** All that have a row, ascending by id. Faults `store.*` (503). */
  list(): Promise<readonly KnownNode[]>;
  /**
   * GET, or what `method` says, of a path (with query) at another node, which answers nodes alone. Resolves with its answer, whatever the
   * status. Fault `node.unreachable` (503): there is no such node, it is dead, has no url, or did not answer in time.
   */
  request(node: string, path: string, options: NodeRequest): Promise<Response>;
}

export interface NodeRequest {
  readonly signal: AbortSignal;
  /** POST has no body: what it is about is in the path. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a PATCH: read only as fast as the other node reads. */
  readonly body?: NodeBody;
  /** ms until its answer begins; default 5000. 0: as long as anything is sent or received. */
  readonly timeout?: number;
}

export interface NodeBody {
  /** Bytes; another number fails the request. */
  readonly length: number;
  /** Called once. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** How another node is asked over the network: resolves with its answer, whatever the status. Rejects without one. */
export type AskNode = (
  url: string,
  path: string,
  options: Pick<NodeRequest, 'signal' | 'headers' | 'method' | 'body'>,
) => Promise<Response>;

/** Processes of one node that are gone, and what they held with them. */
export interface LostNode {
  readonly id: string;
  /**
   * When an incarnation was last known alive, epoch ms; undefined when it may be alive. It reads the nodes at the moment of the
   * call, so read what you ask about before.
   */
  lastSigns(): Promise<(incarnation: string) => number | undefined>;
}
