/** Bytes of WebAssembly (core specification 2.0 §5.4). */
export type Instructions = readonly number[];

/** How 32-bit words are worked with: one at a time, or four of as many messages. Operands are on the stack. */
export interface Words {
  /** Messages. */
  readonly width: number;
  readonly type: number;
  readonly add: Instructions;
  readonly and: Instructions;
  readonly or: Instructions;
  readonly xor: Instructions;
  readonly not: Instructions;
  constant(value: number): Instructions;
  /** To the left, by so many bits. */
  rotated(bits: number, spare: number): Instructions;
  set(variable: number): Instructions;
  loadState(at: number, into: number): Instructions;
  storeState(at: number, from: number): Instructions;
  /** The 16 words of a block into the variables from `first` on. */
  loadBlock(block: { at: number; stride: number; first: number; spare: number }): Instructions;
}

export const oneWord: Words = {
  width: 1,
  type: 0x7f,
  add: [0x6a],
  and: [0x71],
  or: [0x72],
  xor: [0x73],
  not: [0x41, 0x7f, 0x73],
  constant: (value) => [0x41, ...signed(value)],
  rotated: (bits) => [0x41, ...signed(bits), 0x77],
  set: (variable) => set(variable),
  loadState: (at, into) => [...zero, 0x28, 2, ...unsigned(at), ...set(into)],
  storeState: (at, from) => [...zero, ...get(from), 0x36, 2, ...unsigned(at)],
  loadBlock: ({ at, first }) =>
    sixteen.flatMap((n) => [...get(position), 0x28, 2, ...unsigned(at + 4 * n), ...set(first + n)]),
};

/** Vectors of 128 bits: not every processor has them (`WebAssembly.validate`). */
export const fourWords: Words = {
  width: 4,
  type: 0x7b,
  add: vector(0xae),
  and: vector(0x4e),
  or: vector(0x50),
  xor: vector(0x51),
  not: vector(0x4d),
  constant: (value) => [...vector(0x0c), ...[0, 1, 2, 3].flatMap(() => littleEndian(value))],
  rotated: (bits, spare) => [
    ...[0x22, ...unsigned(spare), 0x41, ...signed(bits), ...vector(0xab)],
    ...[...get(spare), 0x41, ...signed(32 - bits), ...vector(0xad), ...vector(0x50)],
  ],
  set: (variable) => set(variable),
  loadState: (at, into) => [...zero, ...loadVector(at), ...set(into)],
  storeState: (at, from) => [...zero, ...get(from), ...vector(0x0b), 4, ...unsigned(at)],
  loadBlock: ({ at, stride, first, spare }) =>
    [0, 1, 2, 3].flatMap((quarter) => {
      const row = (n: number) => first + quarter * 4 + n;
      const load = (n: number) => [
        ...get(position),
        ...loadVector(at + n * stride + quarter * 16),
        ...set(row(n)),
      ];
      const pair = (one: number, other: number) => [...get(one), ...get(other)];
      // Four words of each of four messages become, of each word, that of the four messages.
      return [
        ...[...load(0), ...load(1), ...load(2), ...load(3)],
        ...[...pair(row(0), row(1)), ...picked(0, 4, 1, 5)],
        ...[...pair(row(0), row(1)), ...picked(2, 6, 3, 7), ...set(spare), ...set(row(0))],
        ...[...pair(row(2), row(3)), ...picked(0, 4, 1, 5)],
        ...[...pair(row(2), row(3)), ...picked(2, 6, 3, 7), ...set(row(3)), ...set(row(2))],
        ...[...pair(row(0), row(2)), ...picked(2, 3, 6, 7), ...set(row(1))],
        ...[...pair(row(0), row(2)), ...picked(0, 1, 4, 5), ...set(row(0))],
        ...[...pair(spare, row(3)), ...picked(0, 1, 4, 5), ...set(row(2))],
        ...[...pair(spare, row(3)), ...picked(2, 3, 6, 7), ...set(row(3))],
      ];
    }),
};

/**
 * A module with a function `run(blocks)` on an imported memory (`env.memory`): `before`, `block` for each of at least one
 * block, `after`.
 */
export function body(parts: {
  variables: { type: number; count: number };
  before: Instructions;
  block: Instructions;
  after: Instructions;
}): Uint8Array<ArrayBuffer> {
  const { variables, before, block, after } = parts;
  const loop = [0x03, 0x40, ...block, ...[...get(position), 0x41, ...signed(64), 0x6a, ...set(position)]];
  const again = [...get(left), 0x41, ...signed(1), 0x6b, 0x22, ...unsigned(left), 0x0d, 0, 0x0b];
  const declared = [...unsigned(2), ...[1, 0x7f], ...unsigned(variables.count), variables.type];
  const code = [...declared, ...before, ...zero, ...set(position), ...loop, ...again, ...after, 0x0b];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7f, 0]),
    ...section(2, [1, ...text('env'), ...text('memory'), 2, 0, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...text('run'), 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

export function get(variable: number): Instructions {
  return [0x20, ...unsigned(variable)];
}

function set(variable: number): Instructions {
  return [0x21, ...unsigned(variable)];
}

/** Variables of `body`: blocks that are left, and how far the block is from where blocks begin. */
const [left, position] = [0, 1];
const zero: Instructions = [0x41, 0];
const sixteen = Array.from({ length: 16 }, (_, n) => n);

function vector(operation: number): Instructions {
  return [0xfd, ...unsigned(operation)];
}

function loadVector(at: number): Instructions {
  return [...vector(0x00), 4, ...unsigned(at)];
}

/** A vector of words of two others: 0 to 3 are those of the one, 4 to 7 of the other. */
function picked(...words: readonly number[]): Instructions {
  return [...vector(0x0d), ...words.flatMap((word) => [0, 1, 2, 3].map((byte) => word * 4 + byte))];
}

function section(id: number, bytes: Instructions): Instructions {
  return [id, ...unsigned(bytes.length), ...bytes];
}

function text(value: string): Instructions {
  return [...unsigned(value.length), ...Buffer.from(value)];
}

function littleEndian(value: number): Instructions {
  return [0, 8, 16, 24].map((bits) => (value >>> bits) & 0xff);
}

/** LEB128, §5.2.2. */
function unsigned(value: number): Instructions {
  const low = value & 0x7f;
  return value < 0x80 ? [low] : [low | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): Instructions {
  const low = value & 0x7f;
  const rest = (value | 0) >> 7;
  const isLast = (rest === 0 && low < 0x40) || (rest === -1 && low >= 0x40);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}
