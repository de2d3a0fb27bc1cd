/** Samples of the Prometheus text format: `[{name, labels, value}]`. */
export function metricsOf(text) {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, of, is]) => [of, is]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** Sum of the samples of a name, of those whose labels fit; undefined: there are none. */
export function sumOf(samples, name, labels = {}) {
  const fitting = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([of, is]) => sample.labels[of] === is),
  );
  if (fitting.length === 0) return undefined;
  return fitting.reduce((sum, { value }) => sum + value, 0);
}

/** What a value of a histogram is at most in this share of cases, in its unit. */
export function quantileOf(samples, name, share) {
  const bounds = new Map();
  for (const sample of samples) {
    if (sample.name !== `${name}_bucket`) continue;
    const bound = sample.labels.le === '+Inf' ? Infinity : Number(sample.labels.le);
    bounds.set(bound, (bounds.get(bound) ?? 0) + sample.value);
  }
  const sorted = [...bounds].sort(([a], [b]) => a - b);
  const all = sorted.at(-1)?.[1] ?? 0;
  if (all === 0) return undefined;
  return sorted.find(([, count]) => count >= all * share)?.[0];
}
