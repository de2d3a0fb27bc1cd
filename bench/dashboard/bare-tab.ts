import { join } from 'node:path';
import { browserFlags, browserPath } from '../../test/e2e/harness/chromium.ts';
import { start, temporaryFolder } from '../harness/children.ts';
import { until } from '../harness/subject.ts';

/** One tab of Chromium that nothing watches between two calls. */
export interface BareTab extends AsyncDisposable {
  /** Runs an expression in the page. */
  evaluate(expression: string): Promise<unknown>;
  /** Calls of the DevTools protocol, of the tab or of the whole browser. */
  send(method: string, params?: object): Promise<Answer>;
  sendToBrowser(method: string, params?: object): Promise<Answer>;
}

// What a call answers is as the protocol says.
type Answer = Record<string, unknown>;

/**
 * Opens `url` with `key` in the session storage. Playwright makes Chromium keep the body of each answer in the process of the tab, up to
 * 200 MB, which would hide what the page itself holds: so this speaks to it directly.
 */
export async function bareTab(url: string, { key }: { key: string }): Promise<BareTab> {
  const folder = temporaryFolder();
  const profile = join(folder.path, 'profile');
  const child = start([
    browserPath(),
    ...['--headless', '--remote-debugging-port=0', `--user-data-dir=${profile}`, '--window-size=1280,860'],
    ...browserFlags,
    'about:blank',
  ]);
  const address = () => /ws:\/\/\S+/.exec(child.output)?.[0];
  await until('Chromium', () => address() !== undefined, { within: 20_000, every: 50 });
  const socket = new WebSocket(address() ?? '');
  const waiting = new Map<number, (message: Message) => void>();
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
  });
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  let last = 0;
  const ask = async (method: string, params: object, sessionId?: string): Promise<Answer> => {
    last += 1;
    const id = last;
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
    const { result, error } = await answer;
    waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  };
  const sendToBrowser = (method: string, params: object = {}) => ask(method, params);
  const { targetInfos } = (await sendToBrowser('Target.getTargets')) as { targetInfos: Target[] };
  const targetId = targetInfos.find(({ type }) => type === 'page')?.targetId;
  const attached = await sendToBrowser('Target.attachToTarget', { targetId, flatten: true });
  const send = (method: string, params: object = {}) => ask(method, params, String(attached.sessionId));
  await send('Page.enable');
  await send('Page.addScriptToEvaluateOnNewDocument', {
    source: `sessionStorage.setItem('millrace.key', ${JSON.stringify(key)})`,
  });
  await send('Page.navigate', { url });
  return {
    send,
    sendToBrowser,
    async evaluate(expression) {
      const { result } = await send('Runtime.evaluate', { expression, returnByValue: true });
      return (result as { value?: unknown }).value;
    },
    async [Symbol.asyncDispose]() {
      socket.close();
      await child.stop();
      folder.remove();
    },
  };
}

interface Message {
  readonly id?: number;
  readonly result?: Answer;
  readonly error?: { readonly message: string };
}

interface Target {
  readonly type: string;
  readonly targetId: string;
}
