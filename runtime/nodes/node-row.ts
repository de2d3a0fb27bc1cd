import { allRoles, type NodeInfo, type Role } from '../../core/plugin/nodes.ts';
import type { ResourceCommit, StoredResource } from '../../core/ports/store.ts';

/** What is stored of a node: which process has its id, and how that process does. */
export interface NodeRow {
  readonly incarnation: string;
  /** Epoch ms. Rows from before have none of the four that follow. */
  readonly aliveAt: number;
  readonly url?: string;
  readonly roles?: readonly Role[];
  readonly ingestUrl?: string;
  readonly region?: string;
  /** Last sign of life of the process before, until what that left behind has been seen to. */
  readonly former?: { readonly aliveAt: number };
  /** It was declared dead, or has stopped, at this time (epoch ms). It must write no more. */
  readonly lostAt?: number;
  /** Lost, and its broadcasts have been ended. */
  readonly isSettled?: true;
}

export const nodeKind = 'node';

export function nodeRowOf(stored: StoredResource): NodeRow {
  return JSON.parse(stored.body) as NodeRow;
}

export function infoOf(id: string, row: NodeRow): NodeInfo {
  const { incarnation, url, roles = allRoles, ingestUrl, region, aliveAt } = row;
  return { id, incarnation, url, roles, ingestUrl, region, aliveAt };
}

/** A write of a node's row; null removes it. */
export function nodeWrite(
  id: string,
  { row, createdAt, revision }: { row: NodeRow | null; createdAt: number; revision: number },
): ResourceCommit['rows'][number] {
  const body = row && JSON.stringify(row);
  return { kind: nodeKind, id, account: '', createdAt, name: id, body, indexes: {}, revision };
}
