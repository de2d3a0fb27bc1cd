/** The button in the bar: light or dark, whatever the system prefers; remembered in this browser, for the dashboard too. */
const root = document.documentElement;
const system = matchMedia('(prefers-color-scheme: dark)');
const button = document.getElementById('theme');

export function isDark() {
  return root.dataset.theme ? root.dataset.theme === 'dark' : system.matches;
}

button.hidden = false;
button.addEventListener('click', () => {
  root.dataset.theme = isDark() ? 'light' : 'dark';
  localStorage.setItem('millrace.theme', root.dataset.theme);
  changed();
});
system.addEventListener('change', changed);

function changed() {
  dispatchEvent(new Event('millrace-theme'));
}
