import { Random } from '../random.ts';

const MAX_FINDINGS = 10;
/** Cases under way together, so that no one waits for another reader alone. */
const AT_ONCE = 100;

export interface FuzzRun {
  readonly seed: number;
  readonly cases: number;
  /** Whether parsers of Go read as well, which takes the `go` command. Default: yes. */
  readonly withGo?: boolean;
}

/** A case: compares what readers make of random bytes, and notes what they should not have. */
export type FuzzCase = (random: Random, note: (what: string) => void) => Promise<void>;

/** Runs the cases, until too many have found something. Returns how many there were, and what was found. */
export async function fuzz(
  { seed, cases }: FuzzRun,
  compare: FuzzCase,
  atOnce = AT_ONCE,
): Promise<{ readonly cases: number; readonly findings: readonly string[] }> {
  const findings: string[] = [];
  // What is refused is refused with an error each, whose stack costs more than the reading.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let begun = 0;
  const next = async (): Promise<void> => {
    while (begun < cases && findings.length < MAX_FINDINGS) {
      const number = begun++;
      await compare(new Random(seed + number), what =>
        findings.push(`case ${number} of seed ${seed}: ${what}`),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
  Error.stackTraceLimit = stackTraceLimit;
  return { cases: begun, findings };
}
