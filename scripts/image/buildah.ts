import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** What an image says about how it is run. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
}

const MAX_ATTEMPTS = 3;

/** Debian's buildah with a store of its own: images without an engine, a registry or privileges beyond root's. */
export class Buildah {
  readonly #store: readonly string[];

  constructor(folder: string) {
    const [root, runroot] = [join(folder, 'root'), join(folder, 'run')];
    this.#store = ['--storage-driver', 'vfs', '--root', root, '--runroot', runroot];
  }

  /** Runs one of its commands and returns what it prints. What fails is shown. */
  run(...args: readonly string[]): string {
    return execFileSync('buildah', [...this.#store, ...args], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    }).trim();
  }

  /** Runs a build, again where buildah stumbles over itself: on a busy machine it cannot always seal the copy of itself that it runs. */
  build(...args: readonly string[]): void {
    for (let attempt = 1; ; attempt++) {
      try {
        this.run('bud', ...args);
        return;
      } catch (error) {
        const stumbled = error instanceof Error && error.message.includes('sealing memfd copy');
        if (!stumbled || attempt === MAX_ATTEMPTS) throw error;
        console.log(`buildah could not start a step: attempt ${attempt + 1}`);
      }
    }
  }

  imageOf(folder: string, name: string, env: Readonly<Record<string, string>>): void {
    const container = this.run('from', 'scratch');
    this.run('copy', '--quiet', container, folder, '/');
    for (const [key, value] of Object.entries(env)) this.run('config', '--env', `${key}=${value}`, container);
    this.run('commit', '--quiet', '--rm', '--format', 'docker', container, name);
  }

  configOf(image: string): ImageConfig {
    return JSON.parse(this.run('inspect', '--type', 'image', image)).Docker.config;
  }

  /** Unpacks an image and returns the folder of its root. */
  unpack(image: string): string {
    return this.run('mount', this.run('from', image));
  }
}
