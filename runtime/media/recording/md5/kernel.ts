import { body, get, type Instructions, type Words } from './words.ts';

/**
 * WebAssembly that does what MD5 does with whole blocks (RFC 1321 §3.4), of several messages side by side. MD5 is one long
 * chain of sums, so that a processor has little to do beside it: side by side eight messages take as long as three, one
 * after the other. Written as code that writes the 64 rounds out, since a loop over them would look up what differs.
 *
 * `run(blocks)`: memory holds the states of the messages, a word of each beside the same word of the others, and from
 * `dataAt` on their blocks, `stride` bytes from one message to the next.
 *
 * @param options.groups how many times as many messages as `words` takes, in turn: one's sums fill the other's waits
 */
export function md5Kernel(
  words: Words,
  options: { groups: number; stride: number },
): Uint8Array<ArrayBuffer> {
  const groups = Array.from(
    { length: options.groups },
    (_, number) => new Group(number, words, options.stride),
  );
  const all = (instructions: (group: Group) => Instructions) => groups.flatMap(instructions);
  const rounds = Array.from({ length: 64 }, (_, round) => all((group) => group.round(round))).flat();
  return body({
    variables: { type: words.type, count: options.groups * variables.count },
    before: all((group) => group.take()),
    block: [...all((group) => group.begin()), ...rounds, ...all((group) => group.end())],
    after: all((group) => group.give()),
  });
}

/** Where blocks begin in memory: on a page, so that a disk can put them there by itself. */
export const dataAt = 0x1000;
/** Bytes of a block. */
export const blockSize = 0x40;
/** Those of a message before its first block. */
export const firstState = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];

/** Of a group: the state, the state before the block, the words of the block, and one for what is in between. */
const variables = { state: 0, former: 4, words: 8, spare: 0x18, count: 0x19 };
const shifts = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
];

/** Messages that are summed up by the same instructions. */
class Group {
  readonly #number: number;
  readonly #words: Words;
  readonly #stride: number;

  constructor(number: number, words: Words, stride: number) {
    this.#number = number;
    this.#words = words;
    this.#stride = stride;
  }

  take(): Instructions {
    return four.flatMap((n) => this.#words.loadState(this.#stateAt(n), this.#state(n)));
  }

  give(): Instructions {
    return four.flatMap((n) => this.#words.storeState(this.#stateAt(n), this.#state(n)));
  }

  begin(): Instructions {
    const { set, loadBlock, width } = this.#words;
    const kept = four.flatMap((n) => [...get(this.#state(n)), ...set(this.#former(n))]);
    const at = dataAt + this.#number * width * this.#stride;
    const first = this.#variable(variables.words);
    return [...kept, ...loadBlock({ at, stride: this.#stride, first, spare: this.#spare })];
  }

  /** a = b + rotated(a + f(b, c, d) + word + constant); then b is called c, and so on. */
  round(round: number): Instructions {
    const { add, and, or, xor, not, constant, rotated, set } = this.#words;
    const [a, b, c, d] = four.map((n) => this.#state((n + 64 - round) % 4)) as [
      number,
      number,
      number,
      number,
    ];
    const kind = round >> 4;
    const word = [round, 5 * round + 1, 3 * round + 5, 7 * round][kind]! % 16;
    // What needs b comes last in each: it is what the round before made.
    const f = [
      [...get(c), ...get(d), ...xor, ...get(b), ...and, ...get(d), ...xor, ...add],
      [...get(d), ...not, ...get(c), ...and, ...add, ...get(d), ...get(b), ...and, ...add],
      [...get(c), ...get(d), ...xor, ...get(b), ...xor, ...add],
      [...get(d), ...not, ...get(b), ...or, ...get(c), ...xor, ...add],
    ][kind]!;
    const given = [...get(this.#variable(variables.words + word)), ...constant(constantOf(round)), ...add];
    const sum = [...get(a), ...given, ...add, ...f];
    return [...sum, ...rotated(shifts[kind]![round % 4]!, this.#spare), ...get(b), ...add, ...set(a)];
  }

  end(): Instructions {
    const { add, set } = this.#words;
    return four.flatMap((n) => {
      const state = this.#state(n);
      return [...get(state), ...get(this.#former(n)), ...add, ...set(state)];
    });
  }

  #stateAt(n: number): number {
    return (this.#number * 4 + n) * this.#words.width * 4;
  }

  #state(n: number): number {
    return this.#variable(variables.state + n);
  }

  #former(n: number): number {
    return this.#variable(variables.former + n);
  }

  get #spare(): number {
    return this.#variable(variables.spare);
  }

  #variable(n: number): number {
    return firstVariable + this.#number * variables.count + n;
  }
}

/** Before it are the two of `body`. */
const firstVariable = 2;
const four = [0, 1, 2, 3];

function constantOf(round: number): number {
  return Math.floor(Math.abs(Math.sin(round + 1)) * 2 ** 32);
}
