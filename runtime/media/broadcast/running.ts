import type { Figures, MediaHandlers, PublishGrant, PublishRequest } from '../../../core/ports/media.ts';
import type { Ingest } from '../live/ingest.ts';

/** A publish that has attached and not ended. */
export class Running {
  /** Something of it can be watched. */
  hasBegun = false;
  readonly #grant: PublishGrant;
  readonly #of: { sink: Ingest; request: PublishRequest; handlers: MediaHandlers };
  /** Bytes in the last report. */
  #reported = 0;

  constructor(grant: PublishGrant, of: { sink: Ingest; request: PublishRequest; handlers: MediaHandlers }) {
    this.#grant = grant;
    this.#of = of;
  }

  get figures(): Figures {
    return this.#of.sink.figures();
  }

  get hasNews(): boolean {
    return this.figures.bytes > this.#reported;
  }

  report(type: 'playable' | 'progress'): void {
    const { figures } = this;
    this.#reported = figures.bytes;
    this.#of.handlers.report({ type, grant: this.#grant, figures });
  }

  /** For the log. Never the request itself: it holds the stream key. */
  fields(): Readonly<Record<string, unknown>> {
    const { streamId, sessionId } = this.#grant;
    const { sink, request } = this.#of;
    const { connection, address } = request;
    return { streamId, sessionId, connection, address, encoder: sink.encoder, codecs: sink.codecs };
  }
}
