import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Manifest } from './chart.ts';

interface Schemas {
  readonly kinds: Readonly<Record<string, object>>;
  readonly $defs: Readonly<Record<string, object>>;
}

/** The oldest and the newest version that the chart supports; scripts/kubernetes-schemas.ts fetches their schemas. */
export const KUBERNETES_VERSIONS = ['1.31', '1.37'] as const;

/** What a Kubernetes of one version takes, together with the Gateway API and the Prometheus operator. */
export class StrictSchemas {
  readonly #validators: ReadonlyMap<string, ValidateFunction>;

  constructor(version: (typeof KUBERNETES_VERSIONS)[number]) {
    const { kinds, $defs } = read(`kubernetes-${version}`);
    const all = Object.entries({ ...kinds, ...read('custom-resources').kinds });
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    this.#validators = new Map(all.map(([kind, schema]) => [kind, ajv.compile({ $defs, allOf: [schema] })]));
  }

  /** Says what is wrong with a manifest, unknown fields included. */
  errorsOf(manifest: Manifest): string[] {
    const validate = this.#validators.get(String(manifest.kind));
    if (validate === undefined) return [`unknown kind ${manifest.kind}`];
    if (validate(manifest.toJSON())) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      return `${manifest.kind}${instancePath}: ${message} ${JSON.stringify(params)}`;
    });
  }
}

/** Adds what the API server adds to a custom resource: the defaults in its definition. */
export function withDefaults(manifest: Manifest): unknown {
  const { kinds } = read('custom-resources');
  const { $defs } = read(`kubernetes-${KUBERNETES_VERSIONS[0]}`);
  const ajv = new Ajv2020({ strict: false, validateFormats: false, useDefaults: true });
  const validate = ajv.compile({ $defs, allOf: [kinds[String(manifest.kind)] ?? {}] });
  const filled: unknown = structuredClone(manifest.toJSON());
  if (!validate(filled)) throw new Error(ajv.errorsText(validate.errors));
  return filled;
}

/** The kinds that are custom resources. */
export const CUSTOM_KINDS: readonly string[] = Object.keys(read('custom-resources').kinds);

function read(name: string): Schemas {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'schemas', `${name}.json`), 'utf8'));
}
