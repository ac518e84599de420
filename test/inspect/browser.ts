/**
 * A headless Chromium, spoken to over a pair of pipes in its DevTools protocol: as much of it as our tests use, so that no package is needed
 * for it. Nothing of it listens anywhere; its profile is removed with it.
 * Source: chromedevtools.github.io/devtools-protocol; `--remote-debugging-pipe`: NUL after each message, file descriptors 3 and 4.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const PATIENCE_MS = 60_000;
/** Of keys that the browser itself does something at. */
const KEY_CODES: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Escape: 27 };

export const chromium = (): string | null => PROGRAMS.find((path) => existsSync(path)) ?? null;

type Waiting = { readonly resolve: (result: never) => void; readonly reject: (error: Error) => void };
type Message = {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: never;
  readonly result?: never;
  readonly error?: { readonly message: string };
};

export class Browser {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #waiting = new Map<number, Waiting>();
  readonly #heard: ((message: Message) => void)[] = [];
  #last = 0;

  private constructor(child: ChildProcess, profile: string) {
    this.#child = child;
    this.#profile = profile;
    // Whoever waits for an answer hears of its end.
    (child.stdio[3] as Writable).on('error', () => {});
    const out = child.stdio[4] as Readable;
    let rest = '';
    out.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\0');
      rest = parts.pop() ?? '';
      for (const part of parts) this.#take(JSON.parse(part) as Message);
    });
    child.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the browser has ended'));
    });
  }

  static start(program: string): Browser {
    const profile = mkdtempSync(join(tmpdir(), 'c'));
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-pipe'];
    const quiet = ['--no-first-run', '--disable-extensions', '--disable-background-networking', '--disable-sync'];
    const args = ['-i', `PATH=${process.env.PATH}`, `HOME=${profile}`, program, ...flags, ...quiet];
    const child = spawn('env', [...args, `--user-data-dir=${profile}`, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    return new Browser(child, profile);
  }

  async open(url: string, size = { width: 1600, height: 1000 }): Promise<Tab> {
    const { targetId } = await this.send<{ targetId: string }>('Target.createTarget', { url: 'about:blank', ...size });
    const { sessionId } = await this.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId);
    this.#heard.push(
      (message) => message.sessionId === sessionId && tab.hear(message.method ?? '', message.params as never),
    );
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await tab.send(`${domain}.enable`);
    await tab.resize(size);
    await tab.send('Page.navigate', { url });
    return tab;
  }

  send<T>(method: string, params: object = {}, sessionId?: string): Promise<T> {
    this.#last += 1;
    const id = this.#last;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (result: never) => void, reject });
      (this.#child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Its own end first, so that its helpers end with it. */
  async end(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    if (this.#child.exitCode === null) {
      const late = setTimeout(() => this.#child.kill('SIGKILL'), 3_000);
      this.send('Browser.close').catch(() => {});
      await ended;
      clearTimeout(late);
    }
    for (const pipe of this.#child.stdio) pipe?.destroy();
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  #take(message: Message): void {
    if (message.id === undefined) {
      for (const hear of this.#heard) hear(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.result as never);
    else waiting?.reject(new Error(message.error.message));
  }
}

export class Tab {
  readonly #browser: Browser;
  readonly #session: string;
  /** Addresses that were asked for. */
  readonly asked: string[] = [];
  /** Uncaught errors, refusals of the content security policy, and whatever else the console calls an error. */
  readonly errors: string[] = [];

  constructor(browser: Browser, session: string) {
    this.#browser = browser;
    this.#session = session;
  }

  hear(method: string, params: never): void {
    const told = params as {
      request?: { url: string };
      exceptionDetails?: { text: string; exception?: { description?: string } };
      entry?: { level: string; text: string; url?: string };
    };
    if (method === 'Network.requestWillBeSent' && told.request) this.asked.push(told.request.url);
    if (method === 'Runtime.exceptionThrown')
      this.errors.push(told.exceptionDetails?.exception?.description ?? told.exceptionDetails?.text ?? '');
    if (method === 'Log.entryAdded' && told.entry?.level === 'error')
      this.errors.push(`${told.entry.text} ${told.entry.url ?? ''}`);
  }

  send<T>(method: string, params: object = {}): Promise<T> {
    return this.#browser.send<T>(method, params, this.#session);
  }

  /** The value of an expression in the page; a promise is waited for. */
  async eval<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.send<{
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    }>('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Until an expression in the page is true; fails with what the page shows. */
  async until(what: string, expression: string): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    // While the page is being loaded there is nothing to ask.
    while (!(await this.eval<boolean>(`!!(${expression})`).catch(() => false))) {
      if (performance.now() > endMs)
        throw new Error(
          `never: ${what}\n${await this.eval<string>('document.body.innerText')}\n${this.errors.join('\n')}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  async press(key: string): Promise<void> {
    const text = key.length === 1 ? { text: key } : key === 'Enter' ? { text: '\r' } : {};
    const windowsVirtualKeyCode = KEY_CODES[key];
    const pressed = { key, code: key, ...(windowsVirtualKeyCode === undefined ? {} : { windowsVirtualKeyCode }) };
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', ...pressed, ...text });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...pressed });
  }

  async type(text: string): Promise<void> {
    await this.send('Input.insertText', { text });
  }

  async click(selector: string): Promise<void> {
    const at = `document.querySelector(${JSON.stringify(selector)})`;
    await this.until(`${selector} is there`, at);
    // What the page still moves would be missed: it has to be where it was at the look before, and nothing over it.
    await this.until(
      `${selector} is at rest`,
      `(() => { const e = ${at}; e.scrollIntoView({ block: 'nearest' }); const b = e.getBoundingClientRect();
        const [x, y] = [b.x + b.width / 2, b.y + b.height / 2]; const before = window.lookedAt; window.lookedAt = ${JSON.stringify(selector)} + x + ' ' + y;
        const top = document.elementFromPoint(x, y); return before === window.lookedAt && top !== null && (e.contains(top) || top.contains(e)); })()`,
    );
    const { x, y } = await this.eval<{ x: number; y: number }>(
      `(() => { const e = ${at}; e.scrollIntoView({ block: 'nearest' }); const b = e.getBoundingClientRect(); return { x: b.x + b.width / 2, y: b.y + b.height / 2 }; })()`,
    );
    const mouse = { x, y, button: 'left', clickCount: 1 };
    await this.send('Input.dispatchMouseEvent', { type: 'mousePressed', ...mouse });
    await this.send('Input.dispatchMouseEvent', { type: 'mouseReleased', ...mouse });
  }

  /** Clicks again, a second later, where a click on a page that was being drawn led nowhere. Not for what a second click would undo. */
  async clickUntil(selector: string, what: string, expression: string): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    while (performance.now() < endMs) {
      await this.click(selector);
      for (let look = 0; look < 30; look += 1) {
        if (await this.eval<boolean>(`!!(${expression})`)) return;
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    }
    await this.until(what, expression);
  }

  async resize({ width, height }: { width: number; height: number }): Promise<void> {
    await this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  }

  async scheme(value: 'light' | 'dark'): Promise<void> {
    await this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
  }

  async screenshot(path: string): Promise<void> {
    const { data } = await this.send<{ data: string }>('Page.captureScreenshot', { format: 'png' });
    writeFileSync(path, Buffer.from(data, 'base64'));
  }
}
