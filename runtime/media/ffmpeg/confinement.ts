/** What one process may take; the rest of the bounds is the same for all. */
export interface FfmpegLimits {
  /** Bytes of memory that it may write to. Default: 4 GiB. */
  readonly memory?: number;
  /** Seconds of processor time. Absent: as long as a broadcast may last. */
  readonly cpu?: number;
  /** It uses a graphics device, whose drivers reserve far more addresses than they use memory. */
  readonly hasDevice?: boolean;
}

/** How processes are confined on this system; found out when ffmpeg is. */
export interface Confinement {
  /** Command prefix that makes it die with this process, and bars it from gaining rights. Empty: the system has none. */
  readonly guard: readonly string[];
  /** Command prefix that takes the network from it: a namespace of its own. Empty: the system has none, or does not allow it. */
  readonly isolation: readonly string[];
  /** A shell that sets limits. Undefined: there is none. */
  readonly shell: string | undefined;
}

const defaultMemory = 4 * 1024 ** 3;
/** Addresses beside those of memory that is written to: programs and libraries. */
const moreAddresses = 1024 ** 3;
/** Bytes of a file: it writes into pipes alone. Drivers of graphics devices have small files in shared memory. */
const fileBytes = 64 * 1024 ** 2;
/** Bytes of the stack of each thread. All threads together count as memory. */
const stackBytes = 2 * 1024 ** 2;

/** Command prefix for one process, from the outermost to the shell that sets its limits. */
export function confined(
  { guard, isolation, shell }: Confinement,
  { limits = {}, hasNetwork }: { limits?: FfmpegLimits | undefined; hasNetwork: boolean },
): readonly string[] {
  const outer = [...(hasNetwork ? [] : isolation), ...guard];
  return shell === undefined ? outer : [...outer, shell, '-c', scriptOf(limits), 'sh'];
}

/** A limit that the system does not know, or that is beyond one that is set already, is left as it is. */
function scriptOf({ memory = defaultMemory, cpu, hasDevice = false }: FfmpegLimits): string {
  const kibibytes = (bytes: number) => Math.ceil(bytes / 1024);
  const limits = [
    'c 0',
    // In blocks of 512 bytes.
    `f ${fileBytes / 512}`,
    `s ${kibibytes(stackBytes)}`,
    `d ${kibibytes(memory)}`,
    ...(hasDevice ? [] : [`v ${kibibytes(memory + moreAddresses)}`]),
    ...(cpu === undefined ? [] : [`t ${Math.ceil(cpu)}`]),
  ];
  return [
    ...limits.map((limit) => `ulimit -${limit} 2>/dev/null || :`),
    // The system ends it before anything else when memory runs out.
    '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null || :',
    'exec "$@"',
  ].join('; ');
}
