import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const V1 = '/sys/fs/cgroup/memory';

/** A control group of this machine that limits the memory of what runs in it, of either version. */
export class MemoryGroup {
  readonly folder: string;
  readonly #isV2: boolean;

  /** Throws if this machine does not let us (Linux, root, the controller of memory). */
  constructor(limitBytes: number) {
    this.#isV2 = !existsSync(V1);
    this.folder = join(this.#isV2 ? '/sys/fs/cgroup' : V1, `weir-test-${process.pid}`);
    mkdirSync(this.folder);
    this.limit(limitBytes);
  }

  get usedBytes(): number {
    const file = this.#isV2 ? 'memory.current' : 'memory.usage_in_bytes';
    return Number(readFileSync(join(this.folder, file), 'utf8'));
  }

  /** What its processes hold, without the page cache, which the kernel gives up as needed. */
  get heldBytes(): number {
    const stat = readFileSync(join(this.folder, 'memory.stat'), 'utf8');
    return Number((this.#isV2 ? /^anon (\d+)/m : /^total_rss (\d+)/m).exec(stat)?.[1] ?? 0);
  }

  /** Moves the shell that runs this into the group, with all that it starts. */
  get joinCommand(): string {
    return `echo $$ > ${this.folder}/cgroup.procs`;
  }

  limit(bytes: number): void {
    writeFileSync(join(this.folder, this.#isV2 ? 'memory.max' : 'memory.limit_in_bytes'), String(bytes));
  }

  /** Removes it. Returns false while processes are in it. */
  remove(): boolean {
    try {
      rmdirSync(this.folder);
      return true;
    } catch {
      return false;
    }
  }
}
