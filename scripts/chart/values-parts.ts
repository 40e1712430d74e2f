import { z } from 'zod';

// What the definitions of values are made of. Each has a default, except where leaving it out means something else.

export function flag(byDefault: boolean) {
  return z.boolean().default(byDefault);
}

export function words(byDefault: string) {
  return z.string().default(byDefault);
}

export function wholeNumber(min: number, byDefault: number) {
  return z.int().min(min).default(byDefault);
}

export function list<Item extends z.ZodType>(item: Item) {
  return z.array(item).default([]);
}

/** A map whose keys Kubernetes or Weir checks, not this chart. */
export function anyMap(byDefault: Record<string, unknown> = {}) {
  return z.record(z.string(), z.unknown()).default(byDefault);
}

/** A list of maps whose keys Kubernetes checks. */
export function anyMaps() {
  return list(z.record(z.string(), z.unknown()));
}

/** Labels or annotations. */
export function texts(byDefault: Record<string, string> = {}) {
  return z.record(z.string(), z.string()).default(byDefault);
}
