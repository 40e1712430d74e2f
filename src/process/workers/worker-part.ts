import type { Holder, MainPart, PartOptions, ProcessPart, ServiceTopic, Topic } from '../../core/index.ts';
import { ThreadPart } from '../../core/index.ts';
import type { Link } from './link.ts';

/** Connects the part of the main thread with that of a worker. Returns a function that ends this. */
export function connectWorker(part: MainPart, link: Link): () => void {
  const peer = {
    tell: (topic: string, items: readonly unknown[]) => link.post('told', { topic, items }),
    knows: () => link.ask('known', null),
  };
  link.on('wanted', topic => part.inform(peer, topic));
  link.on('posted', ({ topic, item }) => part.take(peer, topic, item));
  link.on('withdrawn', ({ topic, name, value }) => part.withdraw(topic, name, value));
  link.answer('known', async () => {
    await part.othersKnow(peer);
    return null;
  });
  link.answer('question', ({ name, asked }) => part.answer(name, asked));
  return part.connect(peer);
}

/** The part of a worker: it posts to the main thread, which passes on what the others post, and answers. */
export class WorkerPart extends ThreadPart implements ProcessPart {
  readonly isMain = false;
  readonly #link: Link;
  readonly #holders = new Map<string, Holder<unknown>>();

  constructor(link: Link, options: PartOptions) {
    super(options);
    this.#link = link;
    link.on('told', ({ topic, items }) => {
      for (const item of items) this.#holders.get(topic)?.learn(item);
    });
    link.answer('known', async () => null);
  }

  /** The main thread knows the scope. */
  topic<Item>(name: string): Topic<Item> & Pick<ServiceTopic, 'withdraw'> {
    return {
      join: holder => {
        this.#holders.set(name, holder);
        this.#link.post('wanted', name);
      },
      post: item => this.#link.post('posted', { topic: name, item }),
      withdraw: (fact, value) => this.#link.post('withdrawn', { topic: name, name: fact, value }),
    };
  }

  /** The main thread carries topics to Redis and files for all threads. */
  carry(): void {}

  question<Asked, Answer>(name: string): (asked: Asked) => Promise<Answer> {
    return asked => this.#link.ask('question', { name, asked }) as Promise<Answer>;
  }

  othersKnow(): Promise<null> {
    return this.#link.ask('known', null);
  }
}
