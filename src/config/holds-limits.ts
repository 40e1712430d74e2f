import { asMap } from './file/index.ts';
import { gatewaySchema, limitsSchema } from './schema/index.ts';

/** Whether a file is limits.yaml and not gateway.yaml: it has only keys of limits.yaml, not just the common "routes". */
export function holdsLimits(value: unknown): boolean {
  const keys = Object.keys(asMap(value));
  const isOfLimits = (key: string) => Object.hasOwn(limitsSchema.shape, key);
  return keys.every(isOfLimits) && keys.some(key => !Object.hasOwn(gatewaySchema.shape, key));
}
