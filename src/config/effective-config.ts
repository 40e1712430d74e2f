import { promisify } from 'node:util';
import { deflateRawSync, inflateRaw } from 'node:zlib';
import type { ConfigFile, LimitsFiles } from './file/index.ts';
import { effectiveValue, gatewaySchema, limitsSchema } from './schema/index.ts';

const inflate = promisify(inflateRaw);

/** Both files with all defaults, and without secrets. Compressed: ten thousand routes would take megabytes. */
export class EffectiveConfig {
  readonly #deflated: Buffer;

  constructor(parts: Readonly<Record<string, unknown>>) {
    this.#deflated = deflateRawSync(JSON.stringify(parts));
  }

  /** @param limits `null` if gateway.yaml names none */
  static of(gateway: ConfigFile, limits: LimitsFiles | null): EffectiveConfig {
    return new EffectiveConfig({
      gateway: effectiveValue(gatewaySchema, gateway.value, gateway),
      limits: effectiveValue(limitsSchema, limits?.value ?? {}, limits ?? WITHOUT_TEXT),
    });
  }

  /** `gateway` and `limits`, by the keys of the files. */
  async read(): Promise<Readonly<Record<string, unknown>>> {
    return JSON.parse(String(await inflate(this.#deflated)));
  }
}

const WITHOUT_TEXT = { variableText: () => null };
