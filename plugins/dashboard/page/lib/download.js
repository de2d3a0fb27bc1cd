import { html } from './html.js';
import { localUrl } from './local-url.js';
import { mayNeedToken, tokenOf, withToken } from './playback-token.js';

/** A link that downloads a file of a thing (`of`). The token of one that is protected is asked for when it is clicked. */
export function Download({ url, of, label, children }) {
  const open = async (event) => {
    if (!mayNeedToken(of)) return;
    event.preventDefault();
    const link = document.createElement('a');
    link.href = withToken(url, await tokenOf(of));
    link.download = '';
    link.click();
  };
  return html`<a href=${localUrl(url)} download aria-label=${label} onClick=${open}>${children}</a>`;
}
