/** A fact for `weir explain`: its subject, and the fact in words; `null` if it does not apply. */
export type ExplainedFact = readonly [about: string, fact: string | null];

export function applying(
  facts: Iterable<ExplainedFact | undefined>,
): (readonly [about: string, fact: string])[] {
  return [...facts].flatMap(([about, fact] = ['', null]) => (fact === null ? [] : [[about, fact] as const]));
}
