/** Whether a client takes gzip, by its `Accept-Encoding` (RFC 9110 §12.5.3). */
export function takesGzip(header: string | null): boolean {
  const weights = weightsOf(header);
  return (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0;
}

/** Whether it takes Brotli. Browsers do so over https and on their own machine. */
export function takesBrotli(header: string | null): boolean {
  const weights = weightsOf(header);
  return (weights.get('br') ?? weights.get('*') ?? 0) > 0;
}

function weightsOf(header: string | null): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1';
    weights.set(name, Number(weight));
  }
  return weights;
}
