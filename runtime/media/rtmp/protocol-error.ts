/**
 * The peer broke the protocol or passed a limit: its connection ends, nothing else does.
 * The message is one plain sentence for the log and never quotes what the peer sent.
 */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
}
