/** A box, ISO/IEC 14496-12 4.2. */
export function box(type: string, ...payload: Uint8Array[]): Uint8Array {
  const body = join(payload);
  return join([u32(body.length + 8), text(type), body]);
}

/** A box with a version and flags. */
export function full(type: string, version: number, flags: number, ...payload: Uint8Array[]): Uint8Array {
  return box(type, u32(version * 0x1000000 + flags), ...payload);
}

export function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const part of parts) size += part.length;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function u16(...values: number[]): Uint8Array {
  return Uint8Array.from(values.flatMap((value) => [(value >> 8) & 255, value & 255]));
}

export function u32(...values: number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  values.forEach((value, i) => {
    view.setUint32(i * 4, value);
  });
  return bytes;
}

/** Not negative, below 2^53. */
export function u64(...values: number[]): Uint8Array {
  return u32(...values.flatMap((value) => [Math.floor(value / 0x1_0000_0000), value % 0x1_0000_0000]));
}

export function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

/** No turning and no scaling, 6.2.2. */
export const MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000);
