/** What is heard of a tone that never changes. */
export interface Heard {
  /** Seconds of it that were looked at. */
  readonly seconds: number;
  /** Where it is silent, jumps or breaks off: seconds from the beginning, those of one place told once. */
  readonly breaks: readonly number[];
}

/**
 * Looks for breaks in a tone of `frequency` Hz, one channel at 48 kHz. Of a sine wave the two samples before tell the next
 * (x₂ = 2 cos ω · x₁ − x₀): whatever is missing, repeated or silent shows as a sample that is not what was told, or as a stretch
 * without strength. The first and last half second are left out.
 */
export function listen(sound: Float32Array, options: { frequency: number; rate?: number }): Heard {
  const { frequency, rate = 48_000 } = options;
  const samples = sound.subarray(rate / 2, sound.length - rate / 2);
  const turn = 2 * Math.cos((2 * Math.PI * frequency) / rate);
  const strength = median(blocks(samples).map(loudness));
  const amplitude = strength * Math.SQRT2;
  const breaks: number[] = [];
  const note = (seconds: number) => {
    if (breaks.length === 0 || seconds - (breaks.at(-1) as number) > 0.1) breaks.push(seconds);
  };
  for (const [n, block] of blocks(samples).entries()) {
    const isWeak = loudness(block) < strength / 2;
    let worst = 0;
    for (let at = 2; at < block.length; at += 1)
      worst = Math.max(worst, Math.abs(block[at] - turn * block[at - 1] + block[at - 2]));
    if (isWeak || worst > amplitude * JUMP) note((n * BLOCK) / rate);
  }
  return { seconds: samples.length / rate, breaks: strength < 0.001 ? [0] : breaks };
}

/** Samples that are judged together: 10 ms. */
const BLOCK = 480;
/** What a codec may add to a sample, of the strength of the tone. A seam in the wave has a multiple of it. */
const JUMP = 0.15;

/** Overlapping by two samples, so that none is judged by none. */
const blocks = (samples: Float32Array) =>
  Array.from({ length: Math.floor(samples.length / BLOCK) }, (_, n) =>
    samples.subarray(Math.max(0, n * BLOCK - 2), (n + 1) * BLOCK),
  );

const loudness = (block: Float32Array) =>
  Math.sqrt(block.reduce((sum, sample) => sum + sample * sample, 0) / block.length);

const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
