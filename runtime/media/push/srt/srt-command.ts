import type { SrtUrl } from '../../../../core/push-url/srt-url.ts';
import type { FfmpegCommand, HiddenOptions } from '../../ffmpeg/command.ts';

/** FLV in, MPEG-TS to `address` out; nothing is encoded. */
export function srtCommand(url: SrtUrl, address: string): FfmpegCommand {
  const host = address.includes(':') ? `[${address}]` : address;
  return {
    input: {
      format: 'flv',
      options: {
        // µs. It goes on at once when it has seen pictures and sound; this is for broadcasts of one of them.
        analyzeduration: 500_000,
        fpsprobesize: 0,
      },
    },
    output: {
      target: `srt://${host}:${url.to.port}`,
      format: 'mpegts',
      protocol: 'srt',
      options: {
        c: 'copy',
        map_metadata: -1,
        // µs that it waits for sound that belongs to pictures, or the other way round.
        max_interleave_delta: 100_000,
        muxdelay: 0,
        muxpreload: 0,
        flush_packets: 1,
      },
      hidden: hiddenOptions(url),
    },
    hasReports: true,
  };
}

/** ffmpeg's libsrt: times in µs, `connect_timeout` in ms. A `streamid` of its command line is something else. */
function hiddenOptions(url: SrtUrl): HiddenOptions {
  return {
    mode: 'caller',
    transtype: 'live',
    connect_timeout: 5000,
    // SRT itself gives up after 5 s of silence.
    timeout: 8_000_000,
    ...(url.latency !== undefined && { latency: url.latency * 1000 }),
    ...(url.payload !== undefined && { pkt_size: url.payload }),
    ...(url.streamId !== undefined && { srt_streamid: url.streamId }),
    ...(url.passphrase !== undefined && {
      passphrase: url.passphrase,
      enforced_encryption: 1,
      ...(url.keyLength !== undefined && { pbkeylen: url.keyLength }),
    }),
  };
}
