import { dirname, isAbsolute, join } from 'node:path';

import { ConfigFile } from './config-file.ts';
import type { Environment } from './environment.ts';
import { limitsJsonSchema } from './json-schema.ts';
import { type LimitsConfig, limitsSchema } from './limits-schema.ts';
import { asMap } from './raw.ts';
import { validate } from './validate.ts';

export interface ReadLimits {
  /** Undefined: the file has mistakes, or cannot be read. */
  readonly limits: LimitsConfig | undefined;
  /** Null: gateway.yaml names none, so that all defaults hold, or none that can be read. */
  readonly file: ConfigFile | null;
}

/** Reads the file that `limits` of gateway.yaml names. That there is none is a mistake of gateway.yaml. */
export async function readLimits(gateway: ConfigFile, environment: Environment): Promise<ReadLimits> {
  const { limits: name = 'none' } = asMap(gateway.value);
  if (name === 'none') return { limits: limitsSchema.parse({}), file: null };
  // Not the text that it should be: validation says so.
  if (typeof name !== 'string' || name === '') return { limits: undefined, file: null };
  const file = await ConfigFile.read(besides(gateway.name, name), environment);
  if (file.unreadable !== null) {
    const { message, reason } = file.unreadable;
    gateway.add(['limits'], gateway.holdsVariable(['limits']) ? reason : message);
    return { limits: undefined, file: null };
  }
  return { limits: validate(file, limitsSchema, limitsJsonSchema()), file };
}

/** As the operator would name it: `config/gateway.yaml` and `limits.yaml` are `config/limits.yaml`. */
function besides(gateway: string, name: string): string {
  return isAbsolute(name) ? name : join(dirname(gateway), name);
}
