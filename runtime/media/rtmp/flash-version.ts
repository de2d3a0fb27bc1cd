import type { Command } from './command.ts';

/**
 * What we call ourselves in `connect` (RTMP 1.0, section 7.2.1.1): as an encoder of Adobe's, which every server knows. A push
 * says that it is one, so that the server it reaches, should that be a Millrace, takes no key from an encoder for it.
 */
export const flashVersions = {
  encoder: 'FMLE/3.0 (compatible; Millrace)',
  push: 'FMLE/3.0 (compatible; Millrace push)',
} as const;

/** Whether `connect` comes from a push of a Millrace. Who says so falsely can do less than others, never more. */
export function isFromPush(connect: Command): boolean {
  const properties = connect.values[0];
  if (typeof properties !== 'object' || properties === null) return false;
  return Object.hasOwn(properties, 'flashVer') && Reflect.get(properties, 'flashVer') === flashVersions.push;
}
