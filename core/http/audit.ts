import type { Kit } from '../plugin/plugin.ts';
import { collection } from '../plugin/token.ts';
import type { Principal } from './auth.ts';

/** Something that was done, and that somebody may have to explain later. */
export interface AuditNote {
  /** Account whose things it was done to; undefined where that is unknown. Only the admin account sees such entries. */
  readonly account?: string | undefined;
  /** The API key that did it; undefined for the bootstrap key, and where there was none. */
  readonly keyId?: string | undefined;
  /** Account of that key. */
  readonly actor?: string | undefined;
  /** IP address of the client. */
  readonly address?: string | undefined;
  /** Method and route, as the API reference has them: `DELETE /api/stream/{id}`. */
  readonly action: string;
  /** Id of what it was done to. */
  readonly target?: string | undefined;
  readonly detail?: {
    /** Code of the Fault with which it failed. */
    readonly code?: string;
  };
}

/** Keeps notes. */
export interface AuditLog {
  /** Resolves when the note is on disk, and never rejects: one that cannot be kept is logged. */
  note(note: AuditNote): Promise<void>;
}

/** Who keeps notes; none where the plugin is off. */
export const auditLogs = collection<AuditLog>('audit.logs');

/** What was done by a request that succeeded. */
export interface Done {
  readonly request: Request;
  readonly principal: Principal;
  /** Of the router: `/api/stream/:id`. */
  readonly route: string;
  readonly target: string | undefined;
}

const marked = new WeakSet<Request>();

/** Has a request noted if it succeeds, because of what its body says. */
export function markAudited(request: Request): void {
  marked.add(request);
}

export function isMarked(request: Request): boolean {
  return marked.has(request);
}

/** Notes what a request has done, before it is answered. */
export async function audit(
  { request, principal, route, target }: Done,
  { offered, caller }: Pick<Kit, 'offered' | 'caller'>,
): Promise<void> {
  const { accountId, keyId } = principal;
  const note: AuditNote = {
    ...{ account: accountId, actor: accountId, keyId, address: caller(request).address, target },
    action: `${request.method} ${route.replace(/:(\w+)/g, '{$1}')}`,
  };
  await noted(note, { offered });
}

/** Gives a note to who keeps it. Never rejects. */
export async function noted(note: AuditNote, { offered }: Pick<Kit, 'offered'>): Promise<void> {
  await Promise.all(offered(auditLogs).map((log) => log.note(note)));
}
