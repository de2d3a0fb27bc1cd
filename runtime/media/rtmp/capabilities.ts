import { AUDIO_CODES, VIDEO_CODES } from '../flv/codec.ts';
import type { AmfValue } from './amf0.ts';
import type { Command } from './command.ts';

/**
 * What a server of Enhanced RTMP answers about itself in the properties of `connect`'s result (Enhanced RTMP v2,
 * "Enhancing NetConnection connect Command"). Empty for an encoder that said nothing of the kind: old ones are
 * spared what they do not know.
 */
export function capabilitiesFor(connect: Command): { readonly [key: string]: AmfValue } {
  const properties = connect.values[0];
  if (typeof properties !== 'object' || properties === null) return {};
  return ASKED.some((name) => Object.hasOwn(properties, name)) ? capabilities : {};
}

const ASKED = ['fourCcList', 'videoFourCcInfoMap', 'audioFourCcInfoMap', 'capsEx'];

/** FourCcInfoMask: it is passed on, neither decoded nor encoded. */
const CAN_FORWARD = 4;
/** CapsExMask: ModEx is read. No Multitrack, as one track of each kind is taken; no Reconnect. */
const MOD_EX = 4;
/** What is told about this program, as a server and as a publisher. */
export const capabilities = {
  fourCcList: [...VIDEO_CODES, ...AUDIO_CODES],
  videoFourCcInfoMap: Object.fromEntries(VIDEO_CODES.map((code) => [code, CAN_FORWARD])),
  audioFourCcInfoMap: Object.fromEntries(AUDIO_CODES.map((code) => [code, CAN_FORWARD])),
  capsEx: MOD_EX,
};
