/** What is so for `weir explain`, in words by its subject; `null` does not apply. */
export type DescribedFacts = Readonly<Record<string, string | null | readonly (string | null)[]>>;

type Fact = readonly [about: string, fact: string | null];

export function applying(facts: Iterable<Fact>): (readonly [about: string, fact: string])[] {
  return [...facts].flatMap(([about, fact]) => (fact === null ? [] : [[about, fact] as const]));
}

/** The same for several parts. */
export function applyingOf(parts: Iterable<DescribedFacts | undefined>) {
  const facts = [...parts].flatMap(part => Object.entries(part ?? {}));
  return applying(facts.flatMap(([about, texts]) => [texts].flat().map(text => [about, text] as const)));
}
