import { describe, expect, it } from 'vitest';
import { Handshake } from '../../runtime/media/rtmp/inbound.ts';
import { handshake } from './kit.ts';

function shake() {
  const written: number[] = [];
  return { written, made: new Handshake((bytes) => written.push(...bytes)) };
}

describe('handshake', () => {
  it('answers C1 with S0, S1 and its echo, split at every byte', () => {
    const bytes = Uint8Array.from([...handshake, 0xaa]);
    const echo = Buffer.from(handshake.slice(1, 1537));
    const wrong: number[] = [];
    for (let split = 0; split <= 3073; split += 1) {
      const written: Uint8Array[] = [];
      const made = new Handshake((part) => void written.push(part));
      const first = made.feed(bytes, 0, split) === split && written.length === (split < 1537 ? 0 : 1);
      const second = made.feed(bytes, split, bytes.length) === 3073 && made.isDone && written.length === 1;
      const [answer] = written;
      const isPlain =
        answer.length === 3073 && answer[0] === 3 && (answer[5] | answer[6] | answer[7] | answer[8]) === 0;
      if (!first || !second || !isPlain || echo.compare(answer, 1537) !== 0) wrong.push(split);
    }
    expect(wrong).toEqual([]);
  });

  it('takes it byte by byte', () => {
    const { written, made } = shake();
    for (const byte of handshake) made.feed(Uint8Array.of(byte), 0, 1);
    expect(made.isDone).toBe(true);
    expect(written.length).toBe(3073);
  });

  it('refuses every other version at its first byte', () => {
    for (let version = 0; version < 256; version += 1) {
      const { written, made } = shake();
      const feed = () => made.feed(Uint8Array.of(version), 0, 1);
      if (version === 3) expect(feed).not.toThrow();
      else expect(feed).toThrow('not RTMP version 3');
      expect(written).toEqual([]);
    }
  });
});
