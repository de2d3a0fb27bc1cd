import { expect, test } from 'vitest';
import type { AmfValue } from '../../runtime/media/rtmp/amf0.ts';
import { command, handshake, recordingHandlers, session } from './kit.ts';

test('an encoder of Enhanced RTMP hears which codecs are taken, an old one what it always heard', () => {
  const answerTo = (properties: { [key: string]: AmfValue }) => {
    const { feed, replies } = session({ handlers: recordingHandlers().handlers });
    feed(handshake, command(['connect', 1, { app: 'live', ...properties }]));
    return replies().said.find(({ values }) => values[0] === '_result')?.values[2];
  };
  const old = { fmsVer: 'FMS/3,0,1,123', capabilities: 31 };
  expect(answerTo({})).toEqual(old);
  const enhanced = {
    ...old,
    fourCcList: ['avc1', 'hvc1', 'av01', 'mp4a', 'Opus'],
    videoFourCcInfoMap: { avc1: 4, hvc1: 4, av01: 4 },
    audioFourCcInfoMap: { mp4a: 4, Opus: 4 },
    capsEx: 4,
  };
  for (const properties of [{ fourCcList: ['hvc1'] }, { videoFourCcInfoMap: { '*': 7 } }, { capsEx: 3 }])
    expect(answerTo(properties)).toEqual(enhanced);
});
