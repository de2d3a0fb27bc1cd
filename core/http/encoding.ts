/** Whether a client takes a content coding, by its `Accept-Encoding` (RFC 9110 §12.5.3). */
export function takesEncoding(header: string | null, coding: 'gzip' | 'br'): boolean {
  const weights = new Map<string, number>();
  for (const part of (header ?? '').toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith('q='))?.slice(2) ?? '1';
    weights.set(name, Number(weight));
  }
  const old = coding === 'gzip' ? weights.get('x-gzip') : undefined;
  return (weights.get(coding) ?? old ?? weights.get('*') ?? 0) > 0;
}
