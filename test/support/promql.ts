import { parser } from '@prometheus-io/lezer-promql';

type Matches = (value: string) => boolean;

/** A vector that a query selects: the metric's name, and what each label has to be. */
interface Selector {
  readonly text: string;
  readonly metric: string;
  readonly labels: ReadonlyMap<string, Matches>;
}

/** A sample as a gateway shows it. */
export interface Sample {
  readonly metric: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

/** What a query names. Throws if it is not PromQL. */
function readQuery(query: string): { readonly selectors: Selector[]; readonly grouping: string[] } {
  const selectors: Selector[] = [];
  const grouping: string[] = [];
  const textOf = ({ from, to }: { readonly from: number; readonly to: number }) => query.slice(from, to);
  parser.parse(query).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`not PromQL at ${node.from}: ${query}`);
      if (node.name === 'VectorSelector') selectors.push(readSelector(textOf(node)));
      if (node.name === 'GroupingLabels')
        grouping.push(...node.node.getChildren('LabelName').map(label => textOf(label)));
    },
  });
  return { selectors, grouping };
}

function readSelector(text: string): Selector {
  const metric = /^[\w:]+/.exec(text)?.[0] ?? '';
  const matchers = text.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g);
  const labels = Array.from(
    matchers,
    ([, name = '', operator = '', value = '']) => [name, matcher(operator, value)] as const,
  );
  return { text, metric, labels: new Map(labels) };
}

function matcher(operator: string, value: string): Matches {
  const regex = new RegExp(`^(?:${value})$`);
  switch (operator) {
    case '=':
      return given => given === value;
    case '!=':
      return given => given !== value;
    case '=~':
      return given => regex.test(given);
    default:
      return given => !regex.test(given);
  }
}

/** The samples of a scrape. */
export function samplesIn(scrape: string): Sample[] {
  return Array.from(
    scrape.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm),
    ([, metric = '', labels = '', value]) => ({
      metric,
      labels: new Map(
        Array.from(labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, name = '', text = '']) => [name, text]),
      ),
      value: Number(value),
    }),
  );
}

/** Labels that Prometheus adds to what it scrapes. */
const OF_TARGETS: readonly string[] = ['job', 'instance', 'namespace'];

/** Whether a selector finds one of these samples. Prometheus itself writes `up` of each target. */
function finds({ metric, labels }: Selector, samples: readonly Sample[]): boolean {
  if (metric === 'up') return true;
  const wanted = [...labels].filter(([name]) => !OF_TARGETS.includes(name));
  return samples.some(
    sample =>
      sample.metric === metric &&
      wanted.every(([name, matches]) => sample.labels.has(name) && matches(sample.labels.get(name) ?? '')),
  );
}

/** What a query names that no gateway has shown: whole selectors, and labels to group by. */
export function unknownIn(query: string, samples: readonly Sample[]): string[] {
  const { selectors, grouping } = readQuery(query);
  const shown = new Set([
    ...OF_TARGETS,
    ...samples
      .filter(({ metric }) => selectors.some(selector => selector.metric === metric))
      .flatMap(({ labels }) => [...labels.keys()]),
  ]);
  return [
    ...selectors.filter(selector => !finds(selector, samples)).map(({ text }) => text),
    ...grouping.filter(label => !shown.has(label)),
  ];
}
