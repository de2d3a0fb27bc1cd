import type { PushTrouble } from '../../../core/ports/pusher.ts';
import { isKnownCode, type PublishRefusal } from '../rtmp/client-session.ts';
import { trouble } from './troubles.ts';

/**
 * Why a server refused the stream, in words that hold nothing of what it says but known codes.
 *
 * @param options.wasAccepted It said yes before: whatever it ended the stream for, the URL and the key were right then. */
export function refusalTrouble(
  { code, asksForUser }: PublishRefusal,
  { wasAccepted }: { wasAccepted: boolean },
): PushTrouble {
  if (asksForUser) {
    const what =
      'the server asks for a user and a password, which is not supported; use one that takes a key';
    return trouble('rejected', what);
  }
  // The one says nothing, the other is a text of the server's own.
  const isNews = code !== 'NetConnection.Call.Failed' && isKnownCode(code);
  if (wasAccepted) {
    const named = isNews ? ` with ${code}` : '';
    return trouble('rejected', `the server accepted the stream and then ended it${named}`);
  }
  if (!isNews) return trouble('rejected', `the server refused the stream; ${CHECK_URL}`);
  const what = `the server refused the stream with ${code}`;
  const advice = ADVICE[code];
  return trouble('rejected', advice === undefined ? what : `${what}: ${advice}`);
}

const CHECK_URL = "check the target's URL and its key";
/** What is known to help. */
const ADVICE: Readonly<Record<string, string>> = {
  'NetConnection.Connect.InvalidApp': 'it does not know the path of the URL in front of the key',
  'NetConnection.Connect.Rejected': CHECK_URL,
  'NetStream.Publish.BadName': 'the key is wrong, or something else is streaming with it',
  'NetStream.Publish.Denied': CHECK_URL,
  'NetStream.Publish.Rejected': `${CHECK_URL}, and that nothing else is streaming with it`,
  'NetStream.Publish.Unauthorized': CHECK_URL,
};
