/**
 * What the page around the frame is told, and what it may ask for: messages whose `millrace` says which. They hold nothing that only
 * some pages may know.
 */
export class Host {
  #video;
  #said = '';

  constructor(video) {
    this.#video = video;
    for (const type of ['play', 'pause', 'timeupdate', 'volumechange', 'ended'])
      video.addEventListener(type, () => this.#tell(type));
  }

  /** What cannot be played, and a broadcast that is over. */
  note({ state, message, recording }) {
    const isOver = /^The broadcast is over/.test(message);
    const isFailure = (state === 'waiting' || state === 'film') && message !== '' && !isOver;
    const said = isFailure || isOver ? message : '';
    if (said === this.#said) return;
    this.#said = said;
    if (isOver) this.#tell('ended', recording ? { recording } : {});
    else if (isFailure) this.#tell('error', { message });
  }

  obey({ playback, broadcast }) {
    const orders = {
      play: () => broadcast.resume(),
      pause: () => {
        broadcast.pause();
        playback.pause();
      },
      mute: ({ value }) => {
        this.#video.muted = value === true;
      },
      seek: ({ value }) => {
        if (!Number.isFinite(value) || value < 0) return;
        if (playback.isFilm) this.#video.currentTime = value;
        else broadcast.seek(value);
      },
    };
    addEventListener('message', ({ source, data }) => {
      if (source !== parent || source === window) return;
      if (Object.hasOwn(orders, data?.millrace)) orders[data.millrace](data);
    });
    this.#tell('ready');
  }

  #tell(type, more = {}) {
    if (parent === window) return;
    const { currentTime, duration, paused, muted } = this.#video;
    parent.postMessage({ millrace: type, currentTime, duration, paused, muted, ...more }, '*');
  }
}
