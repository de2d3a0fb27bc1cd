/** How hls.js plays live: near the edge, and never giving up. */
export function liveConfig() {
  const forEver = (maxRetryDelayMs) => ({
    maxNumRetry: Number.POSITIVE_INFINITY,
    retryDelayMs: 500,
    maxRetryDelayMs,
    // hls.js gives up on 4xx and on a refused connection; here both may pass.
    shouldRetry: () => true,
  });
  const patient = {
    maxTimeToFirstByteMs: 12_000,
    maxLoadTimeMs: 20_000,
    timeoutRetry: forEver(1000),
    errorRetry: forEver(2000),
  };
  return {
    lowLatencyMode: true,
    // `Playback` does it.
    maxLiveSyncPlaybackRate: 1,
    // A viewer who is there before the first whole segment stands still until it comes; that says nothing of
    // the network, so stalls count only from SETTLED on.
    liveSyncOnStallIncrease: 0,
    backBufferLength: 20,
    maxBufferLength: 20,
    maxMaxBufferLength: 30,
    // It was there a moment ago; when it is gone again, asking starts over.
    manifestLoadPolicy: {
      default: { ...patient, errorRetry: { ...patient.errorRetry, maxNumRetry: 4, shouldRetry: undefined } },
    },
    playlistLoadPolicy: { default: patient },
    fragLoadPolicy: { default: patient },
  };
}
