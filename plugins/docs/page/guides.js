import './theme-switch.js';

// The entry of this page may be far down in the list of pages.
const current = document.querySelector('.open [aria-current]');
const list = document.querySelector('.pages');
if (current && current.offsetTop > list.clientHeight - 80)
  list.scrollTop = current.offsetTop - list.clientHeight / 2;

// Code is copied with one click.
for (const box of document.querySelectorAll('.code')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    button.textContent = (await copy(box.querySelector('code').textContent))
      ? 'Copied'
      : 'Select it and copy';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  box.append(button);
}

/** A browser gives pages the clipboard over https and on this machine alone. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text.replace(/\n$/, ''));
    return true;
  } catch {
    return false;
  }
}
