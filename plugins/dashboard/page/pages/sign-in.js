import { useState } from 'preact/hooks';
import { sentence, signIn, signInNotice } from '../lib/api.js';
import { html } from '../lib/html.js';
import { icon } from '../lib/icons.js';
import { Field, Problem } from '../lib/parts.js';

export function SignIn() {
  const [key, setKey] = useState('');
  const [isKept, setKept] = useState(false);
  const [problem, setProblem] = useState();
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(key.trim(), { isKept });
    } catch (error) {
      setProblem(
        error?.status === 401
          ? 'This server does not know the key. Copy it once more, without spaces.'
          : sentence(error),
      );
    }
  };
  return html`<main class="sign-in">
    <form class="card stack" onSubmit=${submit}>
      <div class="row">${icon('wheel')}<h1>Millrace</h1></div>
      <${Field} label="API key" hint="npm start shows one when a server starts for the first time">
        <input type="password" name="key" value=${key} autocomplete="current-password" required onInput=${({ target }) => setKey(target.value)} />
      <//>
      <label class="row"><input type="checkbox" checked=${isKept} onChange=${({ target }) => setKept(target.checked)} /> Keep it in this browser</label>
      <${Problem} text=${problem ?? signInNotice.value} />
      <button class="button primary">Sign in</button>
    </form>
  </main>`;
}
