/** A line of a response: what it is about, and what there is to say. */
export type ExplainedFact = readonly [label: string, text: string];

/** In two columns; a label that repeats is shown once. */
export function formatFacts(facts: readonly ExplainedFact[]): string {
  const width = Math.max(...facts.map(([label]) => label.length));
  let before = '';
  const lines = facts.map(([label, text]) => {
    const shown = label === before ? '' : label;
    before = label;
    return `  ${shown.padEnd(width)}  ${text}\n`;
  });
  return lines.join('');
}
