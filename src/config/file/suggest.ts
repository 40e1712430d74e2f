/**
 * Finds the candidate that `word` was probably meant to be; `undefined` if none is similar. Similar means at most one typo per
 * three characters (missing, added, wrong or swapped), ignoring case, or that one begins with the other (`warning` and `warn`).
 */
export function nearestWord(word: string, candidates: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  let best = candidates.find(candidate => oneBeginsWithOther(lower, candidate.toLowerCase()));
  let bestTypos = Math.min(3, Math.max(1, Math.floor(word.length / 3))) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestTypos) continue;
    const typos = countTypos(lower, candidate.toLowerCase());
    if (typos < bestTypos) [best, bestTypos] = [candidate, typos];
  }
  return best;
}

function oneBeginsWithOther(a: string, b: string): boolean {
  return Math.min(a.length, b.length) >= 3 && (a.startsWith(b) || b.startsWith(a));
}

/** `, did you mean "routes"?`, or nothing. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const candidate = nearestWord(word, candidates);
  return candidate === undefined ? '' : `, did you mean "${candidate}"?`;
}

/** Edit distance in which swapping two neighbours counts once ("optimal string alignment"). */
function countTypos(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        at(last, j) + 1,
        at(row, j - 1) + 1,
        at(last, j - 1) + (same ? 0 : 1),
        swapped ? at(beforeLast, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, row];
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
