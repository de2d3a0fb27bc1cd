/**
 * `<millrace-player playback-id="…">`: the player in a frame of its own, so that neither the styles nor the scripts of a page meet
 * those of the player. Events: `play`, `pause`, `timeupdate`, `volumechange`, `ended`, `error`.
 */
(() => {
  if (customElements.get('millrace-player')) return;
  const script = document.currentScript ?? document.querySelector('script[src$="/embed/player.js"]');
  const home = script ? new URL('..', script.src).href.replace(/\/$/, '') : '';
  const FEATURES = 'autoplay; fullscreen; picture-in-picture; encrypted-media';
  const EVENTS = ['play', 'pause', 'timeupdate', 'volumechange', 'ended', 'error'];

  class MillracePlayer extends HTMLElement {
    static observedAttributes = ['playback-id', 'src-base', 'autoplay', 'muted', 'start', 'color', 'token'];
    #frame = document.createElement('iframe');
    #seen = { currentTime: 0, duration: Number.NaN, paused: true, muted: false };
    #hear = (event) => this.#take(event);

    constructor() {
      super();
      const root = this.attachShadow({ mode: 'open' });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(
        ':host{display:block;aspect-ratio:16/9;background:#000}:host([hidden]){display:none}iframe{display:block;width:100%;height:100%;border:0}',
      );
      root.adoptedStyleSheets = [sheet];
      this.#frame.allow = FEATURES;
      this.#frame.allowFullscreen = true;
      root.append(this.#frame);
    }

    connectedCallback() {
      window.addEventListener('message', this.#hear);
      this.#load();
    }

    disconnectedCallback() {
      window.removeEventListener('message', this.#hear);
    }

    attributeChangedCallback(name, before, now) {
      if (!this.isConnected || before === now) return;
      if (name === 'muted') this.muted = now !== null;
      else this.#load();
    }

    play() {
      this.#order('play');
    }

    pause() {
      this.#order('pause');
    }

    /** Seconds: of a film, or since the page began to play a broadcast. Written: of a broadcast, since its beginning. */
    get currentTime() {
      return this.#seen.currentTime;
    }

    set currentTime(value) {
      this.#order('seek', Number(value));
    }

    get muted() {
      return this.#seen.muted;
    }

    set muted(value) {
      this.#order('mute', Boolean(value));
    }

    /** Seconds; not a number before it is known. */
    get duration() {
      return this.#seen.duration;
    }

    get paused() {
      return this.#seen.paused;
    }

    get #base() {
      return (this.getAttribute('src-base') ?? home).replace(/\/+$/, '');
    }

    #load() {
      const id = this.getAttribute('playback-id');
      if (!id) return this.#frame.removeAttribute('src');
      const url = new URL(`${this.#base}/embed/${encodeURIComponent(id)}`, document.baseURI);
      if (!/^https?:$/.test(url.protocol)) return;
      for (const name of ['autoplay', 'muted']) if (this.hasAttribute(name)) url.searchParams.set(name, '1');
      for (const name of ['start', 'color', 'token'])
        if (this.hasAttribute(name)) url.searchParams.set(name, this.getAttribute(name));
      this.#frame.title = this.getAttribute('title') || 'Video player';
      if (this.#frame.src !== url.href) this.#frame.src = url.href;
    }

    #order(millrace, value) {
      if (this.#frame.src)
        this.#frame.contentWindow?.postMessage({ millrace, value }, new URL(this.#frame.src).origin);
    }

    #take({ source, origin, data }) {
      if (source !== this.#frame.contentWindow || origin !== new URL(this.#frame.src).origin) return;
      const { millrace: type, currentTime, duration, paused, muted, message, recording } = data ?? {};
      this.#seen = { currentTime, duration, paused, muted };
      const detail = { currentTime, duration, paused, muted, message, recording };
      if (EVENTS.includes(type)) this.dispatchEvent(new CustomEvent(type, { detail }));
    }
  }

  customElements.define('millrace-player', MillracePlayer);
})();
