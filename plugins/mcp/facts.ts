/** All that is known of one session. */
export interface Facts {
  readonly stream: Stream;
  readonly session: Session | undefined;
  readonly points: readonly Point[];
  readonly timeline: readonly Entry[];
  readonly refused: readonly Refused[];
  readonly now: number;
}

export interface Stream {
  readonly id: string;
  readonly name: string;
  readonly parentId?: string | null;
  readonly isActive?: boolean;
  readonly issues?: readonly string[];
  readonly suspended?: boolean;
  readonly streamKey?: string;
}

export interface Session {
  readonly id: string;
  readonly createdAtMs: number;
  readonly isActive?: boolean;
  /** Epoch ms. */
  readonly lastSeen?: number;
}

/** What `/api/stream/{id}/health` has for 5 s. */
export interface Point {
  readonly time: number;
  /** bit/s */
  readonly ingestRate: number;
  /** s */
  readonly keyFrameInterval: number;
  /** ms */
  readonly dropped: number;
  readonly issues: readonly string[];
}

/** An entry of `/api/session/{id}/timeline`. */
export interface Entry {
  readonly at: number;
  readonly kind: 'state' | 'health' | 'event' | 'delivery';
  readonly state?: string;
  readonly event?: string;
  readonly isHealthy?: boolean;
  readonly issues?: readonly string[];
  readonly payload?: {
    readonly error?: string;
    readonly reason?: string;
    readonly target?: { readonly id?: string; readonly name?: string };
    readonly task?: { readonly type?: string; readonly status?: { readonly errorMessage?: string } };
    readonly asset?: { readonly statusMessage?: string };
  };
  readonly webhookId?: string;
  readonly attempt?: number;
  readonly success?: boolean;
  readonly status?: number;
  /** Why there is no answer. */
  readonly error?: string;
}

/** An entry of `/api/ingest/refused`. */
export interface Refused {
  readonly at: number;
  readonly key?: string;
  readonly encoder?: string;
  readonly reason: string;
  readonly message: string;
  readonly isYours?: boolean;
}

export function durationWords(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
