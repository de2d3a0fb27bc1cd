/**
 * The levels of hls.js as media-chrome reads them from a video: a list of renditions, with the chosen one (-1: hls.js chooses by
 * what the network carries).
 */
export function offerQualities({ video, playback, Hls }) {
  if (!Hls) return;
  const events = new EventTarget();
  const list = Object.assign([], {
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
  });
  const chosen = () => (playback.hls?.autoLevelEnabled === false ? playback.hls.nextLevel : -1);
  Object.defineProperty(list, 'selectedIndex', {
    get: chosen,
    set(index) {
      playback.hls.nextLevel = index;
      events.dispatchEvent(new Event('change'));
    },
  });
  video.videoRenditions = list;
  const refresh = () => {
    const levels = playback.hls?.levels ?? [];
    const found = levels.map(({ width, height, bitrate }, index) => ({
      id: `${index}`,
      width,
      height,
      bitrate,
    }));
    if (JSON.stringify(found) === JSON.stringify(list)) return;
    list.splice(0, list.length, ...found);
    events.dispatchEvent(new Event('addrendition'));
  };
  for (const event of ['loadedmetadata', 'playing']) video.addEventListener(event, refresh);
}
