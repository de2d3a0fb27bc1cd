import ffmpeg from 'fluent-ffmpeg';
import { hiddenPath } from './hidden-file.ts';

/** Largest block of memory that ffmpeg may allocate, bytes. */
const maxAlloc = 256 * 1_048_576;
/** Longest hidden option, bytes: ffmpeg reads lines of 999. */
const maxHiddenLine = 900;

/** One run of ffmpeg: what it reads and what it writes. Options are pairs of a name without its dash and a value. */
export interface FfmpegCommand {
  /** Standard input. */
  readonly input: {
    /** The demuxer: nothing is guessed from what comes, which others wrote. */
    readonly format: string;
    readonly options?: FfmpegOptions;
  };
  /** A filter graph between the two (`-filter_complex`); its open ends are named by the option `map` of the output. */
  readonly filters?: string;
  readonly output: {
    /** `pipe:1`, or a URL without any secret: everybody on the machine can read it. */
    readonly target: string;
    readonly format: string;
    /** The one protocol that it may speak. */
    readonly protocol: string;
    readonly options?: FfmpegOptions;
    /** Options that nobody may read. They come to it in a file without a name, where it can read that (`FfmpegAbout.hides`). */
    readonly hidden?: HiddenOptions;
  };
  /** Standard output carries reports, `key=value` lines twice a second, from the moment on when the output is open. */
  readonly hasReports?: boolean;
}

/** By name. `true`: it has no value. A list: it is given again with each. */
export type FfmpegOptions = Readonly<Record<string, FfmpegOption>>;
export type HiddenOptions = Readonly<Record<string, string | number>>;

export type FfmpegOption = string | number | true | readonly (string | number)[];

/**
 * The arguments for it. The only place that uses `fluent-ffmpeg`, and only as what puts arguments in order: README.md says
 * what of it is not used, and why. Options are given as two arguments, because it splits a single one at a space.
 */
export function argumentsOf(
  { input, filters, output, hasReports = false }: FfmpegCommand,
  { hides }: { hides: boolean },
): readonly string[] {
  const hidden = hides && output.hidden ? ['-fpre', hiddenPath] : listed(output.hidden);
  const command = ffmpeg()
    .input('pipe:0')
    .inputOptions('-hide_banner', '-nostdin', '-nostats', '-loglevel', 'error')
    .inputOptions('-max_alloc', `${maxAlloc}`)
    .inputOptions('-protocol_whitelist', 'pipe', ...listed(input.options))
    .inputFormat(input.format)
    .output(output.target)
    .outputOptions('-protocol_whitelist', output.protocol, ...listed(output.options))
    .outputFormat(output.format);
  if (filters !== undefined) command.complexFilter(filters);
  if (hidden.length > 0) command.outputOptions(...hidden);
  if (hasReports) command.outputOptions('-progress', 'pipe:1');
  return (command as unknown as { _getArguments(): string[] })._getArguments();
}

/** What the file of hidden options holds (ffmpeg's `-fpre`); undefined when one of them cannot be written there. */
export function hiddenText(hidden: HiddenOptions): string | undefined {
  const lines = Object.entries(hidden).map(([name, value]) => `${name}=${value}\n`);
  const isPlain = lines.every(
    // Of a line break the rest would be an option of its own.
    (line) => /^\w+=[^\0\r\n]+\n$/.test(line) && Buffer.byteLength(line) <= maxHiddenLine,
  );
  return isPlain ? lines.join('') : undefined;
}

function listed(options: FfmpegOptions = {}): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === true) return [`-${name}`];
    return [value].flat().flatMap((one) => [`-${name}`, `${one}`]);
  });
}
