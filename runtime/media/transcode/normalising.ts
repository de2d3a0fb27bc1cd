import { hasCode } from '../../../core/base/fault.ts';
import { maxFrameRate } from '../../../core/ports/converter.ts';
import type { Container } from '../../../core/ports/inspector.ts';
import { type Box, Children, Refusal } from '../mp4/inspect/boxes.ts';
import { readTrackHead } from '../mp4/inspect/movie.ts';
import { readSampleEntry } from '../mp4/inspect/sample-entry.ts';
import {
  type ConversionPlan,
  type ConversionSettings,
  conversionCommand,
  maxAudioTracks,
  maxNormalisedSide,
  usesDevice,
} from './command.ts';
import { copyMemory, fitInto, fittingThreads, isSlowPreset, memoryOf, type Size } from './memory.ts';
import { type RunTools, run } from './run.ts';

interface Normalising {
  readonly container: Container;
  /** The film from its beginning, each time. */
  input(): AsyncGenerator<Uint8Array>;
  readonly signal: AbortSignal;
  /** Nothing is taken over as it is. */
  readonly isAnew: boolean;
  readonly settings: ConversionSettings;
  readonly tools: RunTools;
}

/**
 * Converts any film to mp4 with H.264 and AAC. The first process copies all tracks. If the index of its output names another codec, or
 * ffmpeg cannot write it, a new process encodes them, sound first; nothing of the former was handed on by then. So most films of
 * cameras and OBS keep their pictures unchanged.
 */
export async function* normalising(order: Normalising): AsyncGenerator<Uint8Array> {
  const { tools, settings, container, signal } = order;
  const sound = Array.from({ length: maxAudioTracks });
  let taken: Taken = { video: !order.isAnew, audio: !order.isAnew };
  let from: Size | undefined;
  for (;;) {
    const audio = sound.map(() => (taken.audio ? 'copy' : 'aac')) as ConversionPlan['audio'];
    const video = taken.video ? 'copy' : 'good';
    const sizes = {
      ...{ from, to: fitInto(from, { width: maxNormalisedSide, height: maxNormalisedSide }) },
      isSlow: isSlowPreset(settings.h264),
    };
    const threads = taken.video
      ? settings.threads
      : fittingThreads(sizes, { ...settings, memory: tools.memory.total });
    const tried = trying(
      taken,
      run(
        {
          ...{ signal, input: order.input(), frameRate: maxFrameRate },
          command: conversionCommand({ container, video, audio }, { ...settings, threads }),
          memory: taken.video ? copyMemory : memoryOf(sizes, threads),
          hasDevice: usesDevice(settings.h264),
          onMovie(moov) {
            from = shownSize(moov) ?? from;
            checkMovie(moov, taken);
          },
        },
        tools,
      ),
    );
    const next = yield* tried;
    if (next === undefined) return;
    taken = next;
  }
}

/** What is taken over as it is. */
interface Taken {
  readonly video: boolean;
  readonly audio: boolean;
}

/** What it wrote; returns what the next one is to take over when it wrote nothing that is wanted. */
async function* trying(
  taken: Taken,
  pieces: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array, Taken | undefined> {
  let hasBegun = false;
  try {
    for await (const piece of pieces) {
      hasBegun = true;
      yield piece;
    }
    return undefined;
  } catch (error) {
    if (error instanceof Other) return error.next;
    const isLast = !taken.video && !taken.audio;
    if (hasBegun || isLast || !hasCode(error, 'conversion.refused')) throw error;
    // It could not be copied, mostly for sound that mp4 does not know.
    return { video: taken.video && taken.audio, audio: false };
  }
}

/** Another codec than is wanted was taken over. */
class Other extends Error {
  readonly next: Taken;

  constructor(next: Taken) {
    super('another codec');
    this.next = next;
  }
}

function checkMovie(moov: Box, taken: Taken): void {
  const isGood = { vide: true, soun: true };
  for (const trak of new Children(moov).all.filter(({ type }) => type === 'trak')) {
    const { handler, mdia } = readTrackHead(new Children(trak));
    if (handler === 'vide') isGood.vide &&= hasOnly('h264', mdia.need('minf'));
    if (handler === 'soun') isGood.soun &&= hasOnly('aac', mdia.need('minf'));
  }
  const next = { video: taken.video && isGood.vide, audio: taken.audio && isGood.soun };
  if (next.video !== taken.video || next.audio !== taken.audio) throw new Other(next);
}

/** Of the pictures, as the first track of them says. Their bits are not known: the most that films of cameras have. */
function shownSize(moov: Box): Size | undefined {
  for (const trak of new Children(moov).all.filter(({ type }) => type === 'trak')) {
    const { handler, display } = readTrackHead(new Children(trak));
    if (handler !== 'vide') continue;
    const view = new DataView(display.buffer, display.byteOffset, display.byteLength);
    // Behind the matrix, in 16.16.
    const [width, height] = [view.getUint16(36), view.getUint16(40)];
    return width > 0 && height > 0 ? { width, height, pixelBytes: 3 } : undefined;
  }
  return undefined;
}

function hasOnly(kind: 'h264' | 'aac', minf: Box): boolean {
  const stsd = new Children(new Children(minf).need('stbl')).need('stsd');
  try {
    return new Children(stsd, 8).all.every((entry) => readSampleEntry(entry, 'a track').kind === kind);
  } catch (error) {
    // H.264 whose parameters cannot be read is encoded anew.
    if (error instanceof Refusal) return false;
    throw error;
  }
}
