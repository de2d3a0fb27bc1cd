/** Message type ids (RTMP 1.0, 5.4, 6.2 and 7.1). */
export const messageType = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowAckSize: 5,
  setPeerBandwidth: 6,
  audio: 8,
  video: 9,
  dataAmf3: 15,
  commandAmf3: 17,
  dataAmf0: 18,
  commandAmf0: 20,
} as const;

/** What belongs to a publish: media and data. */
export function isMedia(type: number): boolean {
  return (
    type === messageType.video ||
    type === messageType.audio ||
    type === messageType.dataAmf0 ||
    type === messageType.dataAmf3
  );
}

/** Commands and protocol control: what the connection itself is about. */
export function isControl(type: number): boolean {
  return (
    type === messageType.commandAmf0 ||
    type === messageType.commandAmf3 ||
    (type >= messageType.setChunkSize && type <= messageType.setPeerBandwidth)
  );
}
