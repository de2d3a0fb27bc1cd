/** The keys of YouTube's player. What has the focus keeps its own. */
export function listenForKeys({ video, playback, broadcast, frame }) {
  const press = (name) => frame.querySelector(`media-control-bar ${name}`)?.click();
  const seekBy = (seconds) => {
    if (playback.isFilm) video.currentTime = Math.max(0, video.currentTime + seconds);
    else if (broadcast.isSeekable) broadcast.seek(broadcast.place + seconds);
  };
  const seekTo = (tenth) => {
    if (playback.isFilm) video.currentTime = (video.duration || 0) * (tenth / 10);
    else if (broadcast.isSeekable) broadcast.seek(broadcast.length * (tenth / 10));
  };
  const turnUp = (by) => {
    video.volume = Math.min(1, Math.max(0, video.volume + by));
    if (by > 0) video.muted = false;
  };
  const keys = {
    ' ': () => press('media-play-button'),
    k: () => press('media-play-button'),
    j: () => seekBy(-10),
    l: () => seekBy(10),
    ArrowLeft: () => seekBy(-5),
    ArrowRight: () => seekBy(5),
    ArrowUp: () => turnUp(0.05),
    ArrowDown: () => turnUp(-0.05),
    m: () => press('media-mute-button'),
    c: () => press('media-captions-button'),
    f: () => press('media-fullscreen-button'),
  };
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { key } = event;
    const path = event.composedPath();
    const isOn = (names) => path.some((part) => part.matches?.(names));
    if (isOn('[role=menu]')) return;
    if (key === ' ' && isOn('button, a, [role=button]')) return;
    if (/^Arrow/.test(key) && isOn('[type=range], [role=slider]')) return;
    const run = /^\d$/.test(key)
      ? () => seekTo(Number(key))
      : keys[key.length === 1 ? key.toLowerCase() : key];
    if (!run) return;
    event.preventDefault();
    run();
    // Shows the controls for a moment.
    frame.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, composed: true }));
  });
}
