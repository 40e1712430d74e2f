import { type Fact, inNextTurn } from '../../core/index.ts';
import type { WholeFile } from './whole-file.ts';

/** Facts written in one turn of the event loop, which takes less than a millisecond. */
const FACTS_A_TURN = 500;
const WRITE_CHARACTERS = 65_536;

// The facts that a gateway keeps across a restart, one JSON line each.

/** Returns the facts that are still valid; none if there is no file. Throws `StateUnreadable`. */
export async function factsIn(file: WholeFile): Promise<readonly Fact[]> {
  const content = await file.read();
  if (content === null) return [];
  const lines = content.body.toString('utf8').split('\n');
  return lines.flatMap(line => factIn(line, content.agedMs) ?? []);
}

/** Yields the lines of a whole file. Lets the event loop do other work in between. */
export async function* linesOf(facts: Iterable<Fact>): AsyncGenerator<string> {
  let waiting = '';
  let count = 0;
  for (const { name, value, forMs } of facts) {
    waiting += `${JSON.stringify([name, value, forMs])}\n`;
    if (waiting.length >= WRITE_CHARACTERS) {
      yield waiting;
      waiting = '';
    }
    if (++count % FACTS_A_TURN === 0) await new Promise<void>(resolve => inNextTurn(resolve));
  }
  yield waiting;
}

function factIn(line: string, agedMs: number): Fact | null {
  if (line === '') return null;
  const value: unknown = JSON.parse(line);
  if (!Array.isArray(value)) return null;
  const [name, number, forMs] = value;
  if (typeof name !== 'string' || !Number.isSafeInteger(number) || typeof forMs !== 'number') return null;
  return forMs > agedMs ? { name, value: number, forMs: forMs - agedMs } : null;
}
