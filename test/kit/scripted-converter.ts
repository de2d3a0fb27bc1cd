import { Fault } from '../../core/base/fault.ts';
import type {
  ConversionOrder,
  Converter,
  ForeignFile,
  NormaliseOrder,
  SourceFilm,
  TranscodeOrder,
} from '../../core/ports/converter.ts';

/** One conversion that was asked for and is read. */
export interface ScriptedConversion {
  readonly film?: SourceFilm;
  readonly file?: ForeignFile;
  readonly order: TranscodeOrder | NormaliseOrder;
  /** All of it, and that is the end. */
  finish(text: string): void;
  /** A part of it. */
  say(text: string): void;
  fail(error: unknown): void;
  /** Nobody reads it any more, or its signal is aborted. */
  readonly isLeft: boolean;
}

export interface ScriptedConverter extends Converter {
  readonly asked: readonly ScriptedConversion[];
  /** What each that is asked for from now on becomes at once; undefined: what the test says. */
  film: string | Fault | undefined;
  /** What it answers to that. Default: false. */
  isThere: boolean;
}

/** Converts nothing: what a test says is what comes of it. */
export function scriptedConverter(): ScriptedConverter {
  const asked: ScriptedConversion[] = [];
  let film: ScriptedConverter['film'];
  const begin = (order: ConversionOrder & (TranscodeOrder | NormaliseOrder), of: object) => {
    let isLeft = false;
    return new ReadableStream<Uint8Array>({
      start(controller) {
        const leave = () => {
          if (isLeft) return;
          isLeft = true;
          controller.error(order.signal.reason);
        };
        const one: ScriptedConversion = {
          ...of,
          order,
          say: (text) => controller.enqueue(Buffer.from(text)),
          finish(text) {
            controller.enqueue(Buffer.from(text));
            controller.close();
          },
          fail: (error) => controller.error(error),
          get isLeft() {
            return isLeft;
          },
        };
        asked.push(one);
        order.signal.addEventListener('abort', leave);
        if (film instanceof Fault) one.fail(film);
        else if (film !== undefined) one.finish(film);
      },
      cancel() {
        isLeft = true;
      },
    });
  };
  let isThere = false;
  return {
    asked,
    get isThere() {
      return isThere;
    },
    set isThere(given) {
      isThere = given;
    },
    isAvailable: async () => isThere,
    get film() {
      return film;
    },
    set film(given) {
      film = given;
    },
    transcode: (source, order) => begin(order, { film: source }),
    normalise: (file, order) => begin(order, { file }),
    totals: () => ({ running: 0, waiting: 0, ended: { done: 0, refused: 0, broken_off: 0 } }),
    close() {},
  };
}
