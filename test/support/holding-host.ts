import type { PlaneHost } from '../../src/process/workers/index.ts';
import type { Link } from '../../src/process/workers/link.ts';

/** Runs planes as `inner` does. Between `hold` and `release`, what the main thread tells or asks them waits, in its order. */
export function holdingHost(inner: PlaneHost) {
  const held: { readonly name: string; readonly go: () => void }[] = [];
  let holds = false;
  const inTurn = (name: string, go: () => void) => {
    if (holds) held.push({ name, go });
    else go();
  };
  const holding = (link: Link): Link => ({
    on: (name, hear) => link.on(name, hear),
    answer: (name, answer) => link.answer(name, answer),
    close: why => link.close(why),
    post: (name, value) => inTurn(name, () => link.post(name, value)),
    ask: (name, asked) =>
      new Promise((resolve, reject) => inTurn(name, () => void link.ask(name, asked).then(resolve, reject))),
  });
  const host: PlaneHost = {
    start(seed) {
      const hosted = inner.start(seed);
      return { ...hosted, link: holding(hosted.link), end: () => hosted.end() };
    },
  };
  return {
    host,
    hold: () => {
      holds = true;
    },
    /** Whether a message or a question of this name waits. */
    holds: (name: string) => held.some(each => each.name === name),
    release: () => {
      holds = false;
      for (const { go } of held.splice(0)) go();
    },
  };
}
