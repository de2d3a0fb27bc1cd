/**
 * Reads Prometheus text format 0.0.4 strictly: each line is what the format allows, each name is told (HELP, TYPE)
 * once and before its samples, no sample comes twice, and histograms add up. Throws on anything else.
 */
export function parseExposition(text: string): Sample[] {
  if (!text.endsWith('\n')) throw new Error('the last line must end with a line feed');
  const types = new Map<string, string>();
  const helped = new Set<string>();
  const seen = new Set<string>();
  const samples: Sample[] = [];
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? [];
    if (keyword === 'HELP') {
      if (helped.has(name)) throw new Error(`two HELP lines: ${name}`);
      helped.add(name);
    } else if (keyword === 'TYPE') {
      if (types.has(name)) throw new Error(`two TYPE lines: ${name}`);
      if (!/^(counter|gauge|histogram)$/.test(rest)) throw new Error(line);
      types.set(name, rest);
      current = name;
    } else {
      const sample = parseSample(line);
      const isOwn =
        types.get(current) === 'histogram'
          ? ['_bucket', '_sum', '_count'].some((end) => sample.name === current + end)
          : sample.name === current;
      if (!isOwn || !helped.has(current)) throw new Error(`a sample away from its TYPE: ${line}`);
      const key = line.slice(0, line.lastIndexOf(' '));
      if (seen.has(key)) throw new Error(`twice: ${key}`);
      seen.add(key);
      samples.push(sample);
    }
  }
  for (const [name, type] of types) if (type === 'histogram') checkHistogram(name, samples);
  return samples;
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function parseSample(line: string): Sample {
  const label = '[a-zA-Z_]\\w*="(?:[^"\\\\\\n]|\\\\[\\\\n"])*"';
  const form = new RegExp(`^([a-zA-Z_:][\\w:]*)(?:\\{(${label}(?:,${label})*)\\})? ([-+.\\deE]+)$`);
  const [, name, inner = '', number] = form.exec(line) ?? [];
  const value = Number(number);
  if (name === undefined || Number.isNaN(value)) throw new Error(`not a sample: ${line}`);
  const labels: Record<string, string> = {};
  for (const [, key = '', raw = ''] of inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    if (key in labels) throw new Error(`a label twice: ${line}`);
    labels[key] = raw.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
  }
  return { name, labels, value };
}

/** Buckets of one series ascend, do not shrink, and end in `+Inf`, which is the count. */
function checkHistogram(name: string, samples: readonly Sample[]): void {
  const series = new Map<string, Sample[]>();
  for (const sample of samples) {
    if (sample.name !== `${name}_bucket`) continue;
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    series.set(key, [...(series.get(key) ?? []), sample]);
  }
  for (const [key, buckets] of series) {
    const bounds = buckets.map(({ labels: { le } }) =>
      le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le),
    );
    const isRising = bounds.every((bound, index) => index === 0 || bound > bounds[index - 1]);
    const isGrowing = buckets.every(({ value }, index) => index === 0 || value >= buckets[index - 1].value);
    const ofSeries = (end: string) =>
      samples.filter((one) => one.name === name + end && JSON.stringify(one.labels) === key);
    const [count] = ofSeries('_count');
    if (!isRising || !isGrowing || bounds.at(-1) !== Number.POSITIVE_INFINITY)
      throw new Error(`buckets of ${name} ${key}`);
    if (count?.value !== buckets.at(-1)?.value || ofSeries('_sum').length !== 1)
      throw new Error(`count and sum of ${name} ${key}`);
  }
}
