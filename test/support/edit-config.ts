import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import type { ConfigPart } from './gateway.ts';
import type { TestGateway } from './test-gateway.ts';
import { waitFor } from './wait.ts';

/** A gateway that follows the changes of its gateway.yaml. */
interface Configured {
  readonly configFile: string;
}

/** As editors save: a new file in the place of the old one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}~`, text);
  await rename(`${path}~`, path);
}

/** Replaces top-level keys of gateway.yaml; undefined takes one out. */
export async function changeConfig({ configFile }: Configured, keys: ConfigPart): Promise<void> {
  const config: ConfigPart = parse(await readFile(configFile, 'utf8'));
  await replaceFile(configFile, JSON.stringify({ ...config, ...keys }));
}

/** A section of gateway.yaml as it is now. */
export async function configPart({ configFile }: Configured, key: string): Promise<ConfigPart> {
  const config: Readonly<Record<string, ConfigPart>> = parse(await readFile(configFile, 'utf8'));
  return config[key] ?? {};
}

/** The path of the file of limits. */
export async function limitsFile({ configFile }: Configured): Promise<string> {
  const { limits }: { limits: string } = parse(await readFile(configFile, 'utf8'));
  return resolve(dirname(configFile), limits);
}

export async function changeLimits(gateway: Configured, limits: ConfigPart): Promise<void> {
  await replaceFile(await limitsFile(gateway), JSON.stringify(limits));
}

/** What `/status.json` says. */
export interface Status {
  readonly notReady: string | null;
  readonly configuration: {
    readonly generation: number;
    readonly hash: string;
    readonly since: string;
    readonly reload: string;
    readonly pendingRestart: readonly { readonly key: string }[];
    readonly waiting: { readonly generation: number } | null;
    readonly reloads: readonly { readonly outcome: string }[];
    readonly lastFailure: { readonly errors: readonly string[]; readonly mended: boolean } | null;
  };
  readonly provider: { readonly issuer: string; readonly keys: number } | null;
  readonly store: { readonly kind: string; readonly keys: number; readonly restrictions: number };
  readonly upstreams: readonly {
    readonly name: string;
    readonly address: string;
    readonly connections: number;
  }[];
}

export async function statusOf(gateway: TestGateway): Promise<Status> {
  return JSON.parse((await gateway.admin('/status.json')).text);
}

/** Waits until the configuration of that number serves. */
export async function serves(gateway: TestGateway, generation: number): Promise<Status> {
  const isServed = async () => (await statusOf(gateway)).configuration.generation === generation;
  await waitFor(`generation ${generation} serves`, isServed);
  return statusOf(gateway);
}

/** Waits until the files are refused, or refused again. */
export async function refusals(gateway: TestGateway, count: number): Promise<void> {
  const refused = async () =>
    (await gateway.metric('weir_config_reloads_total')).get('{outcome="refused"}') === count;
  await waitFor(`${count} refusals`, refused);
}
