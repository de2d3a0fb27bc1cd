/**
 * What a running program counts of itself, in Prometheus text format 0.0.4. Take a handle once; counting with it allocates
 * nothing. Label values must come from the program, never from a client:
 * each new one lives as long as the process.
 */
export class Metrics {
  readonly #families = new Map<string, () => Iterable<string>>();
  readonly #counters = new Map<string, { readonly help: string; readonly family: Family<Counter> }>();
  readonly #asks: (() => Promise<void>)[] = [];
  readonly #failed: (name: string, error: unknown) => void;

  /** @param options.failed called for each name whose numbers could not be read */
  constructor(options: { failed?: (name: string, error: unknown) => void } = {}) {
    this.#failed = options.failed ?? (() => {});
  }

  /** A number that only grows. Its name ends in `_total`. The same name and help give the same counter. */
  counter(name: string, help: string): Family<Counter> {
    const known = this.#counters.get(name);
    if (known?.help === help) return known.family;
    const family = new Family(() => new Counter());
    this.#add(name, {
      help,
      *lines() {
        for (const [labels, counter] of family.all()) yield `${name}${braced(labels)} ${counter.value}`;
      },
    });
    this.#counters.set(name, { help, family });
    return family;
  }

  /** How often values were at most each of `buckets`, which ascend. Its name ends in the unit. */
  histogram(name: string, options: { help: string; buckets: readonly number[] }): Family<Histogram> {
    const { help, buckets } = options;
    const family = new Family(() => new Histogram(buckets));
    this.#add(name, {
      help,
      type: 'histogram',
      *lines() {
        for (const [labels, { counts, sum }] of family.all()) {
          let count = 0;
          for (const [index, own] of counts.entries()) {
            count += own;
            const bound = `le="${index < buckets.length ? buckets[index] : '+Inf'}"`;
            yield `${name}_bucket${braced(labels === '' ? bound : `${labels},${bound}`)} ${count}`;
          }
          yield `${name}_sum${braced(labels)} ${sum}`;
          yield `${name}_count${braced(labels)} ${count}`;
        }
      },
    });
    return family;
  }

  /** A value that is read when the metrics are: a counter where the name ends in `_total`, else a gauge. */
  reading(name: string, options: { help: string; labels?: Labels; read(): number }): void {
    const { help, labels = {}, read } = options;
    this.readings(name, { help, read: () => [{ labels, value: read() }] });
  }

  /** The same for numbers that differ in labels; those of a name that has none now are left out. */
  readings(
    name: string,
    options: { help: string; read: () => readonly { labels: Labels; value: number }[] },
  ): void {
    const { help, read } = options;
    const lines = () => read().map(({ labels, value }) => `${name}${braced(written(labels))} ${value}`);
    this.#add(name, { help, lines });
  }

  /** Something to ask elsewhere before the metrics are read. Should it fail, they are read as they are. */
  beforeReading(ask: () => Promise<void>): void {
    this.#asks.push(ask);
  }

  /** `text`, after everything of `beforeReading`. */
  async fresh(): Promise<string> {
    await Promise.allSettled(this.#asks.map((ask) => ask()));
    return this.text();
  }

  /** Everything, as it is now. A number that cannot be read is left out, with all others of its name. */
  text(): string {
    let text = '';
    for (const [name, lines] of this.#families) {
      try {
        text += [...lines(), ''].join('\n');
      } catch (error) {
        this.#failed(name, error);
      }
    }
    return text;
  }

  #add(name: string, family: { help: string; type?: string; lines: () => Iterable<string> }): void {
    if (this.#families.has(name)) throw new Error(`the metric ${name} is there already`);
    const { help, type = name.endsWith('_total') ? 'counter' : 'gauge' } = family;
    const head = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`];
    this.#families.set(name, function* () {
      yield* head;
      yield* family.lines();
    });
  }
}

/** The media type of `Metrics.text`. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

/** All numbers of one name, one for each set of labels. */
export class Family<T> {
  readonly #members = new Map<string, { readonly labels: Labels; readonly number: T }>();
  readonly #make: () => T;

  constructor(make: () => T) {
    this.#make = make;
  }

  /** The number with these labels, made when it is new. All callers name them in the same order. */
  with(labels: Labels): T {
    const key = Object.values(labels).join('\n');
    let known = this.#members.get(key);
    if (!known) {
      known = { labels, number: this.#make() };
      this.#members.set(key, known);
    }
    return known.number;
  }

  /** Each with its labels as they are written. */
  *all(): Iterable<[labels: string, number: T]> {
    for (const { labels, number } of this.#members.values()) yield [written(labels), number];
  }
}

export class Counter {
  value = 0;

  add(by = 1): void {
    this.value += by;
  }
}

export class Histogram {
  /** How many fell between a bound and the one before it; the last is of those above all bounds. */
  readonly counts: Float64Array;
  sum = 0;
  readonly #buckets: readonly number[];

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.counts = new Float64Array(buckets.length + 1);
  }

  /** Negative values count as 0: a duration is one when the system's clock is set back meanwhile. */
  observe(value: number): void {
    const size = Math.max(0, value);
    let index = 0;
    while (index < this.#buckets.length && size > this.#buckets[index]) index += 1;
    this.counts[index] += 1;
    this.sum += size;
  }
}

type Labels = Readonly<Record<string, string>>;

function written(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`)
    .join(',');
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
