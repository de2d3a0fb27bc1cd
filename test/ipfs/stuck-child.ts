/** A thread that packs nothing and says nothing, but for files of the older profile: these it seems to pack. */
const port = globalThis as unknown as Worker;
port.onmessage = ({ data }: MessageEvent) => {
  if (data.begin?.profile === 'unixfs-v0-2015') throw new Error('a bug');
};
