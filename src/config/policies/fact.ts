/** Facts for `weir explain`: the description of each subject; `null` if it does not apply. */
export type DescribedFacts = Readonly<Record<string, string | null | readonly (string | null)[]>>;

type Fact = readonly [about: string, fact: string | null];

export function applying(facts: Iterable<Fact>): (readonly [about: string, fact: string])[] {
  return [...facts].flatMap(([about, fact]) => (fact === null ? [] : [[about, fact] as const]));
}

/** The facts that apply, of several parts. */
export function applyingOf(parts: Iterable<DescribedFacts | undefined>) {
  const facts = [...parts].flatMap(part => Object.entries(part ?? {}));
  return applying(facts.flatMap(([about, texts]) => [texts].flat().map(text => [about, text] as const)));
}
