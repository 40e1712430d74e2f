import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

const FLAGS = [
  '--headless=new',
  // Chromium has no sandbox for root. It opens only pages of the test.
  '--no-sandbox',
  '--disable-gpu',
  '--hide-scrollbars',
  '--disable-dev-shm-usage',
  '--disable-extensions',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
  // No authority has signed the certificates of tests.
  '--ignore-certificate-errors',
  // The protocol of the developer tools, on file descriptors 3 and 4.
  '--remote-debugging-pipe',
];

/** A headless Chromium, and how to end it. */
export interface RunningBrowser {
  readonly browser: Browser;
  end(): Promise<void>;
}

/** Starts a headless Chromium with its profile in this folder. */
export function runBrowser(folder: string): RunningBrowser {
  const browser = spawn('chromium', [...FLAGS, `--user-data-dir=${folder}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  const gone = once(browser, 'exit');
  const end = async () => {
    browser.kill('SIGKILL');
    await gone;
  };
  return { browser: new Browser(new DevTools(browser)), end };
}

export class Browser {
  readonly #tools: DevTools;

  constructor(tools: DevTools) {
    this.#tools = tools;
  }

  /** Opens a tab at this address and waits until it has loaded. */
  async open(url: string): Promise<Page> {
    const { targetId } = await this.#tools.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#tools.call('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this.#tools, String(sessionId));
    await page.goTo(url);
    return page;
  }
}

/** A tab. */
export class Page {
  readonly #tools: DevTools;
  readonly #session: string;

  constructor(tools: DevTools, session: string) {
    this.#tools = tools;
    this.#session = session;
  }

  async goTo(url: string): Promise<void> {
    await this.#tools.call('Page.enable', {}, this.#session);
    const loaded = this.#tools.event('Page.loadEventFired', this.#session);
    const { errorText } = await this.#tools.call('Page.navigate', { url }, this.#session);
    if (errorText !== undefined) throw new Error(`the browser cannot open ${url}: ${errorText}`);
    await loaded;
  }

  /** Does what leads the page elsewhere, and waits until that has loaded. */
  async follow(action: () => Promise<unknown>): Promise<void> {
    const loaded = this.#tools.event('Page.loadEventFired', this.#session);
    await action();
    await loaded;
  }

  /**
   * Runs the body of an async function in the page and resolves with what it returns, which has to be JSON. Rejects with the
   * page's error.
   *
   * @example await page.run('return (await fetch("/")).status')
   */
  async run<T = unknown>(body: string): Promise<T> {
    const { result, exceptionDetails } = await this.#tools.call(
      'Runtime.evaluate',
      { expression: `(async () => { ${body} })()`, awaitPromise: true, returnByValue: true },
      this.#session,
    );
    if (exceptionDetails !== undefined)
      throw new Error(`in the browser: ${JSON.stringify(exceptionDetails)}`);
    return (result as { readonly value: T }).value;
  }

  /** Shows the page as on a screen of this width, in the light or in the dark. */
  async look({ width, dark }: { readonly width: number; readonly dark: boolean }): Promise<void> {
    const mobile = width < 600;
    const metrics = { width, height: 800, deviceScaleFactor: 1.5, mobile };
    await this.#tools.call('Emulation.setDeviceMetricsOverride', metrics, this.#session);
    const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }];
    await this.#tools.call('Emulation.setEmulatedMedia', { features }, this.#session);
  }

  /** A PNG of the page, down to `maxHeight`. */
  async picture(maxHeight: number): Promise<Buffer> {
    const size = await this.run<{ width: number; height: number }>(
      'const { clientWidth: width, scrollHeight: height } = document.documentElement; return { width, height };',
    );
    const clip = { x: 0, y: 0, width: size.width, height: Math.min(size.height, maxHeight), scale: 1 };
    const options = { format: 'png', captureBeyondViewport: true, clip };
    const { data } = await this.#tools.call('Page.captureScreenshot', options, this.#session);
    return Buffer.from(String(data), 'base64');
  }

  /** Lets pages run scripts or not, from the next page on. */
  async allowScripts(allowed: boolean): Promise<void> {
    await this.#tools.call('Emulation.setScriptExecutionDisabled', { value: !allowed }, this.#session);
  }

  async close(): Promise<void> {
    await this.#tools.call('Page.close', {}, this.#session);
  }
}

type Message = Readonly<Record<string, unknown>>;

/** The Chrome DevTools Protocol over a pipe: JSON messages that end with a NUL. */
class DevTools {
  readonly #to: Writable;
  readonly #calls = new Map<number, (answer: Message) => void>();
  readonly #events = new Map<string, () => void>();
  #unread = '';
  #lastId = 0;

  constructor({ stdio }: ChildProcess) {
    this.#to = stdio[3] as Writable;
    // A browser that was ended reads no more.
    this.#to.on('error', () => {});
    const from = stdio[4] as Readable;
    from.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    from.on('close', () => this.#end());
  }

  /** Rejects with the browser's error. */
  call(method: string, params: Message, sessionId?: string): Promise<Message> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#calls.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result as Message);
        else reject(new Error(`${method}: ${JSON.stringify(error)}`));
      });
      this.#to.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Resolves when this event comes next. */
  event(method: string, sessionId: string): Promise<void> {
    return new Promise(resolve => this.#events.set(`${sessionId} ${method}`, resolve));
  }

  #read(text: string): void {
    const messages = (this.#unread + text).split('\0');
    this.#unread = messages.pop() ?? '';
    for (const message of messages) this.#onMessage(JSON.parse(message) as Message);
  }

  #onMessage(message: Message): void {
    const { id, method, sessionId } = message;
    if (typeof id !== 'number') {
      this.#events.get(`${sessionId} ${method}`)?.();
      return;
    }
    this.#calls.get(id)?.(message);
    this.#calls.delete(id);
  }

  #end(): void {
    for (const answer of this.#calls.values()) answer({ error: 'the browser has ended' });
    this.#calls.clear();
  }
}
