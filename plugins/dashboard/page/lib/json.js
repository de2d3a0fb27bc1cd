import { html } from './html.js';
import { CopyButton } from './parts.js';

/** A value as indented JSON, with a button that copies it. */
export function Json({ value, label }) {
  const text = JSON.stringify(value, null, 2);
  return html`<div class="json">
    <${CopyButton} text=${text} label=${label} />
    <pre class="code" tabindex="0" aria-label=${label}>${text}</pre>
  </div>`;
}

/** The same of a text that may be JSON. */
export function MaybeJson({ text, label }) {
  try {
    return html`<${Json} value=${JSON.parse(text)} label=${label} />`;
  } catch {
    return html`<pre class="code" tabindex="0" aria-label=${label}>${text}</pre>`;
  }
}
