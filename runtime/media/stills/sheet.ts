import type { StillMedia, StillPicture } from '../../../core/ports/stills.ts';
import { type Drawn, type DrawOptions, draw, fragmentOf, scaled } from './drawing.ts';
import { encodings } from './encodings.ts';
import { type FoundPictures, findPictures, NoPicture } from './found-pictures.ts';
import { jpegSize } from './jpeg-size.ts';
import { drawMotion } from './motion.ts';

/** Changes of format within a storyboard, each a process of its own. The rest of the sheet stays empty. */
const maxRuns = 16;
/** Key frames of a storyboard that are read at the same time. */
const readAtOnce = 4;

/**
 * Makes one picture, a sheet of them, or an animation. On a sheet what cannot be decoded shows the picture before it, so that all others are in
 * their place. Throws NoPicture, and what reading throws.
 */
export async function drawSheet(media: StillMedia, options: DrawOptions): Promise<Drawn> {
  const { pictures } = media;
  if (pictures.length === 0) throw new NoPicture('There is no picture in it.');
  if (media.motion) return drawMotion(media, options);
  if (pictures.length === 1) return drawOne(media, options);
  const runs = runsOf(pictures).slice(0, maxRuns);
  if (runs.length === 1) return drawRun(runs[0], { ...options, shape: scaled(media), grid: gridOf(media) });

  // Another format is another decoder: each run becomes pictures of one size, of which the sheet is made.
  const strips: Uint8Array[] = [];
  let shape = scaled(media);
  for (const run of runs) {
    const strip = await drawRun(run, { ...options, shape });
    if (!strip.ok) return strip;
    const size = strips.length === 0 ? jpegSize(strip.bytes) : undefined;
    if (size) {
      const { width, height } = size;
      shape = `${scaled(size)},pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2`;
    }
    strips.push(strip.bytes);
  }
  return draw({ format: 'mjpeg', filter: `tile=${gridOf(media)}`, media: strips, pictures: 1 }, options);
}

async function drawOne(
  { pictures, format = 'jpeg', ...box }: StillMedia,
  options: DrawOptions,
): Promise<Drawn> {
  const found = await firstFound(pictures[0], options);
  const { timescale } = found.init.track;
  const encoding = encodings[format];
  // Half a tick before: the times are whole ones.
  const from = Math.max(0, (found.wanted - 0.5) / timescale).toFixed(9);
  return draw(
    {
      format: 'mp4',
      input: { copyts: true },
      filter: `select='gte(t,${from})',${scaled(box, encoding)}`,
      media: [found.init.bytes, fragmentOf(found, { sequence: 1, first: 0 })],
      pictures: 1,
      encoding,
    },
    options,
  );
}

/** Of where it may be, the first that has pictures. */
async function firstFound({ sources }: StillPicture, options: DrawOptions): Promise<FoundPictures> {
  let why = new NoPicture('There is no picture in it.');
  for (const source of sources) {
    try {
      return await findPictures(source, options);
    } catch (error) {
      if (!(error instanceof NoPicture)) throw error;
      why = error;
    }
  }
  throw why;
}

/** With a `grid` one JPEG, otherwise one for each picture. */
function drawRun(
  pictures: readonly StillPicture[],
  { shape, grid, ...options }: DrawOptions & { shape: string; grid?: string },
): Promise<Drawn> {
  const { length: count } = pictures;
  // One a second, by times of ours: a second in which none came shows the one before.
  const each = `fps=1:start_time=0:round=near,tpad=stop_mode=clone:stop=${count},trim=end_frame=${count}`;
  return draw(
    {
      format: 'mp4',
      input: { copyts: true, flags: '+low_delay' },
      filter: [shape, each, ...(grid === undefined ? [] : [`tile=${grid}`])].join(','),
      media: keyFrames(pictures, options),
      pictures: grid === undefined ? count : 1,
    },
    options,
  );
}

/** Key frames, each a second behind the one before. Some are read ahead. */
async function* keyFrames(
  pictures: readonly StillPicture[],
  options: DrawOptions,
): AsyncIterable<Uint8Array> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([options.signal, leaving.signal]);
  const next = pictures[Symbol.iterator]();
  const reading: Promise<FoundPictures | undefined>[] = [];
  const readNext = () => {
    const { value, done } = next.next();
    if (done) return;
    const found = firstFound(value, { ...options, signal }).catch((error: unknown) => {
      if (error instanceof NoPicture) return undefined;
      throw error;
    });
    // A reader that stops early does not await it.
    found.catch(() => {});
    reading.push(found);
  };
  let last: FoundPictures | undefined;
  try {
    for (let count = 0; count < readAtOnce; count += 1) readNext();
    for (let index = 0; reading.length > 0; index += 1) {
      const found = await reading.shift();
      readNext();
      if (!found) continue;
      if (!last) yield found.init.bytes;
      last = found;
      yield fragmentOf(found, { sequence: index + 1, first: index * found.init.track.timescale });
    }
    if (!last) throw new NoPicture('There is no picture in it.');
    // Once more: the filter lets go of a picture when it knows how long it lasts.
    const { length: sequence } = pictures;
    yield fragmentOf(last, { sequence: sequence + 1, first: sequence * last.init.track.timescale });
  } finally {
    leaving.abort();
  }
}

/** Stretches of one init each. */
function runsOf(pictures: readonly StillPicture[]): StillPicture[][] {
  const runs: StillPicture[][] = [];
  for (const picture of pictures) {
    const last = runs.at(-1);
    if (last && idOf(last[0]) === idOf(picture)) last.push(picture);
    else runs.push([picture]);
  }
  return runs;
}

function idOf({ sources }: StillPicture): string {
  return sources[0].init.id;
}

function gridOf({ pictures, columns }: StillMedia): string {
  return `${columns}x${Math.ceil(pictures.length / columns)}`;
}
