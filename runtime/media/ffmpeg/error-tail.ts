import { withoutSecrets } from '../../../core/base/secrets.ts';

/** Bytes kept of what a process writes to its standard error: the last ones. */
export const errorTailBytes = 16_384;
/** After so many bytes reading pauses, so that a process that floods its standard error waits and costs no CPU here. */
const bytesPerPause = 65_536;
const pauseMs = 100;

/** Reads what a process writes to its standard error, and keeps the end of it. `isRead` never rejects. */
export function errorTail(
  stream: ReadableStream<Uint8Array>,
  { secrets, pause }: { secrets: readonly string[]; pause(ms: number): Promise<void> },
) {
  let kept = Buffer.alloc(0);
  const read = async (): Promise<void> => {
    let sincePause = 0;
    for await (const bytes of stream) {
      kept = Buffer.concat([kept, bytes]).subarray(-errorTailBytes);
      sincePause += bytes.length;
      if (sincePause < bytesPerPause) continue;
      sincePause = 0;
      await pause(pauseMs);
    }
  };
  return {
    // It fails when the process is gone.
    isRead: read().catch(() => {}),
    /** Without secrets, and without a first line that was cut: half a secret would not be recognised. */
    text(): string {
      const text = kept.toString('utf8');
      const start = kept.length >= errorTailBytes ? text.indexOf('\n') + 1 || text.length : 0;
      return redacted(text.slice(start), secrets);
    },
  };
}

/** Removes hidden options, URLs, addresses and what looks like a key. Still only for operators: ffmpeg repeats what its input holds. */
function redacted(text: string, hidden: readonly string[]): string {
  const known = [...hidden]
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length);
  const without = known.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return withoutSecrets(without.replace(url, '$1://***')).replace(address, '***');
}

const url = /\b([a-z][a-z0-9+.-]*):\/\/[^\s'"]*/gi;
const address = /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[[0-9a-f:.]*:[0-9a-f:.]*\](?::\d+)?/gi;
