import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { waitFor } from './wait.ts';

/** curl's flags for either version of HTTP over cleartext. */
export const VERSIONS = [
  ['HTTP/1.1', '--http1.1'],
  ['HTTP/2', '--http2-prior-knowledge'],
] as const;

/** A curl that runs while a test feeds and reads it. */
export class Curl {
  readonly #process;
  readonly #gone: Promise<unknown>;
  /** Everything that it wrote so far. */
  output = '';

  /** Starts it with these arguments; it writes what it gets at once. The end of the running test ends it. */
  constructor(...parameters: string[]) {
    this.#process = spawn('curl', ['-sS', '-N', ...parameters], { stdio: ['pipe', 'pipe', 'pipe'] });
    // By then all its output is here, unlike at `exit`.
    this.#gone = once(this.#process, 'close');
    // It may end before it has read its input.
    this.#process.stdin.on('error', () => {});
    for (const from of [this.#process.stdout, this.#process.stderr])
      from.setEncoding('latin1').on('data', (text: string) => {
        this.output += text;
      });
    onTestFinished(() => this.kill());
  }

  /** Writes to its standard input. */
  write(text: string): void {
    this.#process.stdin.write(text);
  }

  endInput(): void {
    this.#process.stdin.end();
  }

  /** Waits until its output ends with this text. */
  hasWritten(text: string): Promise<void> {
    return waitFor(`curl writes ${JSON.stringify(text)}, and not ${JSON.stringify(this.output)}`, () =>
      this.output.endsWith(text),
    );
  }

  /** Waits for its end; returns its exit code. */
  async ended(): Promise<number | null> {
    await this.#gone;
    return this.#process.exitCode;
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#gone;
  }
}
