import type { PublishGrant, PublishRefusal, PublishRequest } from '../../../core/ports/media.ts';
import type { MediaSink } from '../publish/sink.ts';

/** What owns publishes: the same for every session of a listener. */
export interface PublishHandlers {
  /** May this publish begin? Nothing it sends is parsed as media before the answer. A throw is a no. */
  authorise(request: PublishRequest): Promise<PublishGrant | PublishRefusal>;
  /**
   * A granted publish begins; its media goes to this sink. Or it may no longer begin: it was ended while
   * the grant was on its way. A refusal or a throw refuses it, and `detached` follows.
   */
  attach(grant: PublishGrant, request: PublishRequest): MediaSink | PublishRefusal;
  /**
   * A granted publish is over: exactly once for every grant that `authorise` gave, after the last call of
   * its sink. Without `attach` before it when the encoder had gone, or had waited too long, by then.
   */
  detached(grant: PublishGrant, end: PublishEnd): void;
}

export interface PublishEnd {
  /** Somebody ended it on purpose: the encoder by a command, or the server by closing the publish. */
  readonly clean: boolean;
  readonly by: 'encoder' | 'server';
  /** One plain phrase for the log. */
  readonly reason: string;
}

/** One publish, from the question whether it may to its end. Sees to it that `detached` is called once. */
export class Publish {
  /** Message stream that carries its media. */
  readonly streamId: number;
  grant: PublishGrant | undefined;
  /** There from the grant to the end. */
  sink: MediaSink | undefined;
  /** What the owner threw instead of an answer. */
  error: unknown;
  readonly #handlers: PublishHandlers;
  #end: PublishEnd | undefined;

  constructor(streamId: number, handlers: PublishHandlers) {
    this.streamId = streamId;
    this.#handlers = handlers;
  }

  /** Resolves undefined when granted, with `sink` set unless it has ended meanwhile. Never rejects. */
  async ask(request: PublishRequest): Promise<PublishRefusal | undefined> {
    const answer = await this.#authorise(request);
    if (!answer.granted) return answer;
    this.grant = answer;
    if (this.#end !== undefined) {
      this.#handlers.detached(answer, this.#end);
      return undefined;
    }
    try {
      const taken = this.#handlers.attach(answer, request);
      if ('granted' in taken) {
        this.end({ clean: false, by: 'server', reason: 'it was ended before it began' });
        return taken;
      }
      if (this.#end === undefined) this.sink = taken;
      return undefined;
    } catch (error) {
      this.error = error;
      this.end({ clean: false, by: 'server', reason: 'the packager did not start' });
      return failure;
    }
  }

  /** The first end counts. Later ones do nothing. */
  end(end: PublishEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.sink = undefined;
    if (this.grant !== undefined) this.#handlers.detached(this.grant, end);
  }

  async #authorise(request: PublishRequest): Promise<PublishGrant | PublishRefusal> {
    try {
      return await this.#handlers.authorise(request);
    } catch (error) {
      this.error = error;
      return failure;
    }
  }
}

const failure: PublishRefusal = {
  granted: false,
  reason: 'unavailable',
  message: 'The server could not take the broadcast. Try again.',
};
