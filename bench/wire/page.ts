import type { Outcome } from './outcome.ts';
import type { VectorGroup } from './vectors.ts';

/** What became of the vectors at one gateway, by group and name. */
export interface Column {
  readonly name: string;
  readonly version: string;
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

const SIGNS: Readonly<Record<Outcome['judgement'], string>> = {
  refused: '',
  repaired: 'repaired, ',
  passed: '',
  'let through': '**let through**, ',
  broken: '**broken**, ',
};

/** Writes docs/comparison.md. */
export function comparisonPage(groups: readonly VectorGroup[], columns: readonly Column[]): string {
  return `# What gateways do with hostile bytes

Written by \`npm run compare:wire\`, which sends the same bytes through each gateway to a service that keeps what reaches it. All are
configured to forward everything to one service, as their documentation shows; none checks tokens or limits here.

- A number: the status that the client got; \`closed\`: the connection ended without a response; \`silent\`: neither within a second.
- Without a further word a hostile request was **refused**: nothing of it reached the service. *repaired*: the service got a request without
  the harm. **let through**: the harm reached the service, byte by byte, or it got more requests than were sent. That need not be a vulnerability by
  itself: it is one as soon as the service reads the bytes in another way than the gateway did.
- **broken**: a valid request did not reach the service as it was.
- Services disagree about the paths below, so Weir refuses them; a gateway that passes them on leaves the reading to the service. The same holds
  for fields that a client may send by itself: Weir removes the names that services trust.

| | ${columns.map(({ name, version }) => `${name} ${version}`).join(' | ')} |
|---|${columns.map(() => '--:|').join('')}
| let through | ${columns.map(column => count(column, 'let through')).join(' | ')} |
| broken | ${columns.map(column => count(column, 'broken')).join(' | ')} |
${groups.map(group => sectionOf(group, columns)).join('')}`;
}

function count({ outcomes }: Column, judgement: Outcome['judgement']): string {
  const all = [...outcomes.values()];
  return `${all.filter(outcome => outcome.judgement === judgement).length} of ${all.length}`;
}

function sectionOf({ title, vectors }: VectorGroup, columns: readonly Column[]): string {
  const rows = vectors.map(({ name, source }) => {
    const cells = columns.map(({ outcomes }) => cellOf(outcomes.get(`${title}: ${name}`)));
    return `| ${name} | ${source} | ${cells.join(' | ')} |\n`;
  });
  return `
## ${title}

| | Rule | ${columns.map(({ name }) => name).join(' | ')} |
|---|---|${columns.map(() => '---|').join('')}
${rows.join('')}`;
}

function cellOf(outcome: Outcome | undefined): string {
  return outcome === undefined ? '' : `${SIGNS[outcome.judgement]}${outcome.told}`;
}
