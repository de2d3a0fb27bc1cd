import type { SrtUrl } from '../../../../core/push-url/srt-url.ts';
import type { FfmpegCommand, HiddenOptions } from '../../ffmpeg/command.ts';
import type { SrtLimits } from './limits.ts';

/** FLV in, MPEG-TS to `address` out; nothing is encoded. */
export function srtCommand(
  url: SrtUrl,
  { address, limits }: { address: string; limits: SrtLimits },
): FfmpegCommand {
  const host = address.includes(':') ? `[${address}]` : address;
  return {
    input: {
      format: 'flv',
      options: {
        // µs. It goes on at once when it has seen pictures and sound; this is for broadcasts of one of them.
        analyzeduration: limits.analyze * 1000,
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
        max_interleave_delta: limits.interleave * 1000,
        muxdelay: 0,
        muxpreload: 0,
        flush_packets: 1,
      },
      hidden: hiddenOptions(url, limits),
    },
    hasReports: true,
  };
}

/** ffmpeg's libsrt: times in µs, `connect_timeout` in ms. A `streamid` of its command line is something else. */
function hiddenOptions(url: SrtUrl, limits: SrtLimits): HiddenOptions {
  return {
    mode: 'caller',
    transtype: 'live',
    connect_timeout: limits.connectTimeout,
    timeout: limits.writeTimeout * 1000,
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
