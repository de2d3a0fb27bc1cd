import { AUDIO_CODES, VIDEO_CODES } from '../flv/codec.ts';
import { type AmfValue, readAmf0 } from './amf0.ts';
import { flashVersions } from './flash-version.ts';
import { messageType } from './message-writer.ts';
import { ProtocolError } from './protocol-error.ts';

/** A command message (RTMP 1.0, section 7.2). */
export interface Command {
  readonly name: string;
  readonly transaction: number;
  /** The command object, then the arguments. */
  readonly values: readonly AmfValue[];
}

/** Reads a command of type 20, or of type 17: one format byte, then AMF0. Throws `ProtocolError`. */
export function readCommand(type: number, bytes: Uint8Array, start: number, end: number): Command {
  const [name, transaction, ...values] = readValues(type === messageType.commandAmf3, bytes, start, end);
  if (typeof name !== 'string') throw new ProtocolError('a command has no name');
  return { name, transaction: typeof transaction === 'number' ? transaction : 0, values };
}

/**
 * The values of a `@setDataFrame` or `onMetaData` message, or undefined for any
 * other data message and for one that cannot be read: nothing hangs on metadata.
 */
export function readMetadata(
  type: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): readonly AmfValue[] | undefined {
  try {
    const values = readValues(type === messageType.dataAmf3, bytes, start, end);
    if (values[0] === '@setDataFrame' || values[0] === 'onMetaData') return values;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
  }
  return undefined;
}

/** The application that `connect` asks for. Falls back on tcUrl, of which nothing else is believed. */
export function readApp(connect: Command): string {
  const { app, tcUrl } = propertiesOf(connect);
  if (typeof app === 'string' && app !== '') return trimName(app);
  const path = typeof tcUrl === 'string' ? /^[a-z]+:\/\/[^/]*\/(.*)$/i.exec(tcUrl)?.[1] : undefined;
  return trimName(path ?? '');
}

/** Whether `connect` comes from a push of a Millrace. Who says so falsely can do less than others, never more. */
export function isFromPush(connect: Command): boolean {
  return propertiesOf(connect).flashVer === flashVersions.push;
}

/**
 * What a server of Enhanced RTMP answers about itself in the properties of `connect`'s result (Enhanced RTMP v2,
 * "Enhancing NetConnection connect Command"). Empty for an encoder that said nothing of the kind: old ones are
 * spared what they do not know.
 */
export function capabilitiesFor(connect: Command): { readonly [key: string]: AmfValue } {
  const properties = propertiesOf(connect);
  const isAsked = ['fourCcList', 'videoFourCcInfoMap', 'audioFourCcInfoMap', 'capsEx'].some(
    (name) => name in properties,
  );
  return isAsked ? capabilities : {};
}

/** FourCcInfoMask: it is passed on, neither decoded nor encoded. */
const CAN_FORWARD = 4;
/** CapsExMask: ModEx is read. No Multitrack, as one track of each kind is taken; no Reconnect. */
const MOD_EX = 4;
/** What this program says of itself, as a server and as a publisher. */
export const capabilities = {
  fourCcList: [...VIDEO_CODES, ...AUDIO_CODES],
  videoFourCcInfoMap: Object.fromEntries(VIDEO_CODES.map((code) => [code, CAN_FORWARD])),
  audioFourCcInfoMap: Object.fromEntries(AUDIO_CODES.map((code) => [code, CAN_FORWARD])),
  capsEx: MOD_EX,
};

/** The stream key of `publish`: its first argument up to the query. Undefined when that is no text. */
export function readKey(publish: Command): string | undefined {
  const name = publish.values[1];
  return typeof name === 'string' ? trimName(name) : undefined;
}

function propertiesOf(connect: Command): { readonly [key: string]: AmfValue } {
  const properties = connect.values[0];
  return typeof properties === 'object' && properties !== null
    ? (properties as { readonly [key: string]: AmfValue })
    : {};
}

/** Without query and without slashes around it. Scans, as a pattern for it could be made to backtrack. */
function trimName(name: string): string {
  const query = name.indexOf('?');
  let end = query < 0 ? name.length : query;
  let start = 0;
  while (start < end && name[start] === '/') start += 1;
  while (end > start && name[end - 1] === '/') end -= 1;
  return name.slice(start, end);
}

function readValues(isAmf3: boolean, bytes: Uint8Array, start: number, end: number): AmfValue[] {
  if (!isAmf3) return readAmf0(bytes, start, end);
  if (start === end || bytes[start] !== 0) throw new ProtocolError('an AMF3 message does not hold AMF0');
  return readAmf0(bytes, start + 1, end);
}
