import { shownDocument } from './document.js';
import { isDark } from './theme-switch.js';

/** The calls of `millrace/client`: the server makes this module of its source. */
const { operations } = await import(new URL('client.js', import.meta.url));
/** Scalar comes as a script of its own, before this one. */
const { createApiReference } = window.Scalar;
const content = shownDocument(await read(), new Set(Object.keys(operations)));
document.title = `${content.info.title} API ${content.info.version}`;
document.getElementById('reference').replaceChildren();
// Scalar takes a theme once; what the button changes afterwards is the class that its colours depend on.
createApiReference('#reference', {
  forceDarkModeState: isDark() ? 'dark' : 'light',
  content,
  theme: 'none',
  layout: 'modern',
  // Nothing from elsewhere, and nothing of a key to elsewhere.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  persistAuth: false,
  // Where the page is: the policy lets requests go nowhere else.
  servers: [{ url: location.origin }],
  authentication: { preferredSecurityScheme: 'key' },
  // The examples are ours: those that Scalar makes know neither our client nor where the key comes from.
  hiddenClients: true,
  // Light and dark are switched above, for the guides too.
  hideDarkModeToggle: true,
  // The document as the server has it is linked in its introduction.
  documentDownloadType: 'none',
  defaultOpenFirstTag: false,
  orderRequiredPropertiesFirst: true,
  orderSchemaPropertiesBy: 'preserve',
  hideModels: true,
  operationTitleSource: 'summary',
});
addEventListener('millrace-theme', () => {
  document.body.classList.toggle('dark-mode', isDark());
  document.body.classList.toggle('light-mode', !isDark());
});

async function read() {
  const answer = await fetch('/openapi.json');
  if (answer.ok) return answer.json();
  document.getElementById('reference').textContent = `/openapi.json: the server answered ${answer.status}.`;
  throw new Error(`/openapi.json: ${answer.status}`);
}
