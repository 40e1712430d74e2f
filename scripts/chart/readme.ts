import { z } from 'zod';
import { valuesSchema } from './values.ts';
import { accessValues, observationValues } from './values-around.ts';
import { podValues } from './values-pod.ts';

type JsonSchema = z.core.JSONSchema.BaseSchema;

const INTRODUCTION = `# Weir in Kubernetes

The chart of [Weir](../../README.md): a Deployment, or a DaemonSet, with two Services (clients, and the platform) and two ConfigMaps, and on
request routes of the Gateway API, an Ingress, an autoscaler, monitors, alerts and a dashboard. It needs Kubernetes 1.31 or newer and
Helm 3 or 4. [docs/kubernetes.md](../../docs/kubernetes.md) installs it in five minutes and says how to change, scale and watch it.

\`\`\`
helm install weir helm/weir --namespace gateways --create-namespace -f values.yaml
\`\`\`

\`\`\`yaml
# values.yaml
image: { repository: registry.example.com/weir }
config:
  trusted_proxies: [10.0.0.0/8]
  upstreams:
    api: { url: http://api.default.svc:3000 }
  routes:
    - { path: /v1/**, upstream: api, authentication: none }
\`\`\`

The files in [ci](ci) are further examples: [Redis](ci/redis-values.yaml), [gRPC](ci/grpc-values.yaml),
[TLS](ci/tls-values.yaml), [TLS behind a Gateway](ci/tls-routes-values.yaml), [files and scaling of others](ci/existing-values.yaml),
[as closed as possible](ci/restricted-values.yaml), [every value](ci/full-values.yaml). Those of [OpenShift](ci/openshift-values.yaml),
[IPv6](ci/ipv6-values.yaml), [Istio](ci/istio-values.yaml), [Linkerd](ci/linkerd-values.yaml), [Argo CD](ci/argocd-values.yaml) and
[arm64](ci/arm64-values.yaml) belong to [docs/kubernetes-platforms.md](../../docs/kubernetes-platforms.md).

A value that is not listed here is refused, and so is a mistake in \`config\` or \`limits\`. This file is made from the definition
of the values: \`npm run chart\`.
`;

/** Makes the chart's README: an introduction, and a table of every value. */
export function chartReadme(): string {
  const { properties = {} } = z.toJSONSchema(valuesSchema, { io: 'input', target: 'draft-7' });
  const groups: ReadonlyMap<string, string> = new Map([
    ...Object.keys(podValues).map(key => [key, 'The pods'] as const),
    ...Object.keys(accessValues).map(key => [key, 'Who reaches the gateway'] as const),
    ...Object.keys(observationValues).map(key => [key, 'Metrics, alerts, dashboard'] as const),
  ]);
  const grouped = Map.groupBy(Object.entries(properties), ([key]) => groups.get(key) ?? 'The gateway');
  const sections = Array.from(grouped, ([title, entries]) => {
    const rows = entries.flatMap(([key, schema]) => rowsOf(key, schema as JsonSchema));
    return `\n## ${title}\n\n| Value | Default | |\n|---|---|---|\n${rows.join('')}`;
  });
  return INTRODUCTION + sections.join('');
}

/** A row for a value; for a map with known keys, one for the map and one for each of them. */
function rowsOf(path: string, schema: JsonSchema): string[] {
  const { properties, description = '', default: byDefault } = schema;
  const row = `| \`${path}\` | ${defaultCell(byDefault)} | ${description.replaceAll('|', '\\|')} |\n`;
  const inner = Object.entries(properties ?? {});
  return [row, ...inner.flatMap(([key, part]) => rowsOf(`${path}.${key}`, part as JsonSchema))];
}

function defaultCell(value: unknown): string {
  if (value === undefined || value === '') return '';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
