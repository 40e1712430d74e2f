import { type System, thisMachine } from '../../src/core/index.ts';
import { waitFor } from './wait.ts';

/** The files of this machine, and how far the gateway has read the kernel's tables of connections (man 5 proc_net). */
export class WatchedTables {
  #begun = 0;
  #ended = 0;

  readonly files: System['files'] = {
    ...thisMachine.files,
    open: async path => {
      if (path === '/proc/net/tcp') this.#begun++;
      const file = await thisMachine.files.open(path).catch(error => {
        if (path === '/proc/net/tcp6') this.#ended++;
        throw error;
      });
      if (path !== '/proc/net/tcp6') return file;
      return {
        stat: () => file.stat(),
        read: (...to) => file.read(...to),
        close: async () => {
          await file.close();
          this.#ended++;
        },
      };
    },
  };

  /** Waits until the gateway has read all that it has begun to. */
  async read(): Promise<void> {
    await waitFor('the tables are read', () => this.#ended === this.#begun);
  }
}
