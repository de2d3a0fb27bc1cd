import { withoutSecrets } from '../../../core/base/secrets.ts';

/**
 * What a process said, without what was hidden from its command line, without URLs, addresses and names of hosts in them, and
 * without what looks like a key. Whoever shows it shows it to operators at most: ffmpeg repeats what its input holds.
 */
export function redacted(text: string, hidden: readonly string[]): string {
  const known = [...hidden]
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length);
  const without = known.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return withoutSecrets(without.replace(url, '$1://***')).replace(address, '***');
}

const url = /\b([a-z][a-z0-9+.-]*):\/\/[^\s'"]*/gi;
const address = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-f:.]*:[0-9a-f:.]*\](?::\d+)?/gi;
