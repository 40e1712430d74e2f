import { z } from 'zod';

// What the definitions of values are made of. Each has a default, except where leaving it out means something else.

export function flag(byDefault: boolean) {
  return z.boolean().default(byDefault);
}

export function words(byDefault: string) {
  return z.string().default(byDefault);
}

/** Kubernetes takes no greater number: its integers have 32 bits. */
export const MOST = 2_147_483_647;

export function wholeNumber(min: number, byDefault: number) {
  return z.int().min(min).max(MOST).default(byDefault);
}

export function list<Item extends z.ZodType>(item: Item) {
  return z.array(item).default([]);
}

/** A map whose keys Kubernetes or Weir checks, not this chart. */
export function anyMap() {
  return z.record(z.string(), z.unknown()).default({});
}

/** A list of maps whose keys Kubernetes checks. */
export function anyMaps() {
  return list(z.record(z.string(), z.unknown()));
}

/** A type of Kubernetes', such as core.v1.Affinity: the schema of the chart takes what Kubernetes takes and nothing else. */
export function kubernetesMap(type: string, byDefault: Record<string, unknown> = {}) {
  return z.record(z.string(), z.unknown()).meta({ kubernetes: type }).default(byDefault);
}

/** A list of a type of Kubernetes'. */
export function kubernetesList(type: string) {
  return list(z.record(z.string(), z.unknown()).meta({ kubernetes: type }));
}

/** Texts by name, such as annotations. */
export function texts() {
  return z.record(z.string(), z.string()).default({});
}

export function labels(byDefault: Record<string, string> = {}) {
  return z.record(z.string(), z.string().max(63).regex(LABEL_VALUE)).default(byDefault);
}

export function objectName() {
  return z.string().max(253).regex(OBJECT_NAME).default('');
}

export function namespace() {
  return z
    .string()
    .max(63)
    .regex(/^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/)
    .default('');
}

const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const OBJECT_NAME = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$/;
