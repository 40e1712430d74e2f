import type { ContainerSpec, EnvVar, ObjectMeta } from './manifests.ts';
import { parseQuantity } from './quantity.ts';
import { contentsOf, type FindFiles } from './volumes.ts';

/** What a pod knows of itself (the downward API). */
export interface PodFacts {
  readonly metadata: ObjectMeta;
  readonly ip: string;
}

/** The environment that a container is given besides that of its image. */
export function environmentOf(
  container: ContainerSpec,
  pod: PodFacts,
  find: FindFiles,
): Record<string, string> {
  if (container.envFrom !== undefined && container.envFrom.length > 0)
    throw new Error('the pod runner knows no envFrom');
  const environment: Record<string, string> = { HOSTNAME: pod.metadata.name };
  for (const variable of container.env ?? []) {
    const value = variableOf(variable, container, pod, find);
    if (value !== undefined) environment[variable.name] = expand(value, environment);
  }
  return environment;
}

/** `$(NAME)` stands for a variable that was set before; `$$(` for itself. */
function expand(value: string, environment: Readonly<Record<string, string>>): string {
  return value.replace(/\$\$|\$\(([^)]+)\)/g, (match, name?: string) =>
    name === undefined ? '$' : (environment[name] ?? match),
  );
}

function variableOf(
  { name, value, valueFrom }: EnvVar,
  container: ContainerSpec,
  pod: PodFacts,
  find: FindFiles,
): string | undefined {
  if (valueFrom === undefined) return value ?? '';
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (fieldRef !== undefined) return fieldOf(fieldRef.fieldPath, pod);
  if (resourceFieldRef !== undefined) return resourceOf(resourceFieldRef, container);
  const ref = secretKeyRef ?? configMapKeyRef;
  if (ref === undefined) throw new Error(`the pod runner cannot set ${name}`);
  const kind = secretKeyRef === undefined ? 'ConfigMap' : 'Secret';
  const object = find(kind, ref.name);
  const content = object === undefined ? undefined : contentsOf(object).get(ref.key);
  if (content === undefined && ref.optional !== true)
    throw new Error(
      object === undefined ? `${kind} ${ref.name} not found` : `${kind} ${ref.name} has no ${ref.key}`,
    );
  return content?.toString();
}

function fieldOf(path: string, { metadata, ip }: PodFacts): string {
  const fields: Record<string, string> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace ?? 'default',
    'spec.nodeName': 'here',
    'status.podIP': ip,
    'status.hostIP': ip,
  };
  const value = fields[path];
  if (value === undefined) throw new Error(`the pod runner has no field ${path}`);
  return value;
}

function resourceOf(
  ref: { readonly resource: string; readonly divisor?: string | number },
  container: ContainerSpec,
): string {
  const [list = '', name = ''] = ref.resource.split('.');
  const resources = list === 'limits' ? container.resources?.limits : container.resources?.requests;
  const quantity = resources?.[name];
  if (quantity === undefined) throw new Error(`the container has no ${ref.resource}`);
  return String(Math.ceil(parseQuantity(quantity) / parseQuantity(ref.divisor ?? 1)));
}
