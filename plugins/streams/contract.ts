import type { Principal } from '../../core/http/auth.ts';
import type { Caller } from '../../core/http/caller.ts';
import type { Operation } from '../../core/http/operation.ts';
import type { PlayQuestion } from '../../core/plugin/decide.ts';
import { resource } from '../../core/plugin/resource.ts';
import { collection, token } from '../../core/plugin/token.ts';
import type { LiveReading, PublishGrant } from '../../core/ports/media.ts';
import type { Place } from '../../core/ports/store.ts';

/** The stream object; sessions are of the same kind. Other plugins add fields to it. */
export const stream = resource('stream');

/** What other plugins may ask of streams. */
export interface Streams {
  /**
   * Sets fields that other plugins own on a parent stream.
   * Faults: `stream.not_found` (404), `stream.session_read_only` (400), and those of the fields.
   */
  setFields(
    principal: Principal,
    options: { id: string; fields: Readonly<Record<string, unknown>> },
  ): Promise<void>;
  /** The stream or session `id`, if it is the caller's. Fault `stream.not_found` (404). */
  find(principal: Principal, id: string): Promise<StreamState>;
  /** A parent or a session as events show it, without its key; undefined when there is none. */
  describe(
    id: string,
  ): Promise<(StreamState & { readonly body: Readonly<Record<string, unknown>> }) | undefined>;
  /**
   * A parent stream as it is stored now: one point read, cheap enough for each second. Undefined when there is none.
   * Faults `store.*` (503).
   */
  current(id: string): Promise<StreamState | undefined>;
  /**
   * Reports the recording of a session to its parent stream, whose `recordingStatus` follows the newest one. `instead`: a session
   * whose recording was deleted and which this one replaces. May be repeated. Nothing happens when the stream is gone.
   */
  noteRecording(streamId: string, options: { recording: SessionRecording; instead?: string }): Promise<void>;
  /** The observer is called once a second while something is on the air on this node. Returns the unsubscribe. */
  observe(observer: LiveObserver): () => void;
}

/** State of the recording of a session. */
export interface SessionRecording {
  readonly sessionId: string;
  /** When the session began, epoch ms: the newest one counts. */
  readonly sessionCreatedAt: number;
  /** `none`: it failed or was deleted. */
  readonly status: 'waiting' | 'ready' | 'none';
}

/** A stream or session as it is stored. */
export interface StreamState {
  readonly id: string;
  readonly account: string;
  /** Of a session. */
  readonly parentId: string | null;
  /** A secret; empty for a session. */
  readonly streamKey: string;
  readonly isActive: boolean;
  /** Of a session: it has ended and cannot come back. */
  readonly isOver: boolean;
  /** Of a parent its newest session, of a session itself. */
  readonly sessionId: string | null;
  /** Ids of the nodes that fed that session, the newest at the end. */
  readonly nodes: readonly string[];
  /** Process that has its playlist; null when none has. */
  readonly incarnation: string | null;
  /** Values of the fields that plugins add to streams, by name. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * A session, for plugins that follow it: `payload` of the events `session.started`, `session.idle` and `session.over`, whose
 * `stream` is the parent. They come in this order, the first two again with each return. Clients do not get them.
 */
export interface SessionFacts {
  readonly id: string;
  readonly streamId: string;
  readonly account: string;
  /** Epoch ms of its first connection. */
  readonly createdAt: number;
  /** Until when it may come back while it is off the air, epoch ms. Older events have none. */
  readonly endsAt?: number;
  readonly name: string;
  readonly createdByTokenName: string;
  /** Values of the fields that plugins add to streams, by name, as they were when it began. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Where a client sends broadcasts to: an RTMP address without the key, the first of `/api/ingest`. Undefined while no node takes
 * broadcasts. Without an offer: a living node that does.
 */
export const ingestAddresses =
  collection<(caller: Caller) => Promise<string | undefined>>('streams.ingest-address');

/** URL of the page that plays a playback id, or the recording of the session with this id. */
export const watchPages = collection<(id: string, caller: Caller) => string>('streams.watch-page');

/** What a plugin adds to the grant of each publish of a session; called again with each reconnect. */
export type PublishTerms = (session: SessionFacts) => Pick<PublishGrant, 'recording' | 'profiles'>;

export const publishTerms = collection<PublishTerms>('streams.publish-terms');

/**
 * A file beside the playlists of a live stream, `/hls/{playbackId}/{name}`: made by the node that has them, served by every
 * node as playlists are.
 */
export interface LiveFile {
  readonly name: string;
  readonly summary: string;
  readonly operation: Pick<Operation, 'name' | 'answers'> & { readonly faults: readonly string[] };
  /** What plugins that decide are told that it is. Default: `image`. */
  readonly what?: PlayQuestion['what'];
  /** Undefined: this node has no such playlist. Its Faults and answers go to viewers. `If-None-Match` is checked by the caller. */
  answer(playbackId: string, options: { readonly signal: AbortSignal }): Promise<Response> | undefined;
}

export const liveFiles = collection<LiveFile>('streams.live-files');

/** Looks at the broadcasts of this node. Called on the thread that reads sockets. */
export interface LiveObserver {
  /**
   * What is wrong with a broadcast, at `now` in epoch ms, in plain words. A stream with any is shown as not
   * healthy.
   */
  look(reading: LiveReading, now: number): readonly string[];
  /** What is wrong elsewhere, such as at a multistream target: shown in `issues`, and the stream stays healthy. */
  remark?(reading: LiveReading, now: number): readonly string[];
  /** The end of a round: these sessions were looked at, and there are no others. */
  seen(sessions: ReadonlySet<string>): void;
}

/** Codes of the Faults that `setFields` throws itself. */
export const setFieldsFaults = [
  'stream.not_found',
  'stream.session_read_only',
  'actor.not_possible',
] as const;

export const streams = token<Streams>('streams');

/** Attempts to deliver the events of streams, for the timelines of their sessions. */
export interface DeliveryLog {
  /** Oldest first, those after a place. */
  after(
    streamId: string,
    options: { readonly account: string; readonly place: Place; readonly limit: number },
  ): Promise<readonly LoggedDelivery[]>;
}

export interface LoggedDelivery {
  /** Of the entry in the log of the webhook. */
  readonly id: string;
  /** Epoch ms. */
  readonly at: number;
  readonly webhookId: string;
  readonly event: string;
  /** Id of the event. */
  readonly deliveryId: string;
  readonly attempt: number;
  readonly success: boolean;
  /** ms */
  readonly duration: number;
  /** Of the answer. */
  readonly status?: number;
  readonly error?: string;
}

export const deliveryLogs = collection<DeliveryLog>('streams.delivery-logs');
