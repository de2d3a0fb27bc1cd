import { isUuid } from './ids.ts';

/**
 * Text with everything that looks like a secret masked. A key in the wrong place (a path, the name of a field) must not
 * come back in an answer or a log.
 */
export function withoutSecrets(text: string): string {
  return text
    .replace(streamKey, '***')
    .replace(target, '$1://***')
    .replace(run, (word) => (isSecret(word) ? '***' : word));
}

/** `xxxx-xxxx-xxxx-xxxx`, as `newStreamKey` makes it; others have a fifth group. */
const streamKey = /(?<![0-9a-z-])[0-9a-z]{4}(?:-[0-9a-z]{4}){3,4}(?![0-9a-z-])/g;
/** Where a broadcast is pushed to: the end of such a URL is a stream key. A scheme alone, `rtmp://,`, or with a placeholder, `rtmp://<host>`, is none. */
const target = /\b(rtmps?|srt):\/\/[^\s"',<][^\s"']*/gi;
/** API keys and the bootstrap key that is made are at least this long. Ids of streams and the like are uuids. */
const run = /[A-Za-z0-9_-]{24,}/g;

/** For a message that names what is not there: an id, or `of this id` when it is none and might be a secret. */
export function idOrNone(id: string): string {
  return isUuid(id) ? id : 'of this id';
}

/** A long word without digits or capitals is a word. */
function isSecret(word: string): boolean {
  return /[0-9A-Z]/.test(word) && !isUuid(word);
}
