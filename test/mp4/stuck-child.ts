/** A thread that never answers for a file of one byte, as if it computed for ever. */
const port = globalThis as unknown as Worker;

port.onmessage = ({ data }: MessageEvent<{ begin?: { size: number } }>) => {
  if (data.begin?.size === 2) port.postMessage({ inspection: { ok: false, reason: 'small' } });
};
