import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { tempFolder } from '../support/temp.ts';
import { HELM_VERSIONS, helmCommand } from './helm-fetched.ts';

export const CHART = resolve(import.meta.dirname, '../../helm/weir');

/** The values files that show an installation each: minimal-values.yaml and the others. */
export const VALUES_FILES: readonly string[] = readdirSync(join(CHART, 'ci'));

/** Every pair of a Helm and a values file. */
export const INSTALLATIONS = HELM_VERSIONS.flatMap(helm => VALUES_FILES.map(file => ({ helm, file })));

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export function runHelm(version: string, ...args: string[]): Promise<Ended> {
  return new Promise(done => {
    const child = execFile(helmCommand(version), args, { maxBuffer: 1 << 24 }, (_, out, err) =>
      done({ code: child.exitCode ?? -1, out, err }),
    );
  });
}

interface TemplateOptions {
  readonly helm?: string;
  /** The values file below the test's own values; null: there is none. */
  readonly file?: string | null;
}

/** `helm template` with values of the test's own. */
export function template(values: object | string, options: TemplateOptions = {}): Promise<Ended> {
  return runOnce('template', values, options);
}

/** The text that `helm install` ends with. From Helm 4: Helm 3 renders it only with a cluster. */
export async function notes(values: object): Promise<string> {
  const { out } = await runOnce('install --dry-run=client', values, { helm: HELM_VERSIONS.at(-1) ?? '' });
  return out.split('NOTES:\n')[1] ?? '';
}

/** What Helm said to the same values before. */
const RUNS = new Map<string, Promise<Ended>>();

function runOnce(command: string, values: object | string, options: TemplateOptions): Promise<Ended> {
  const { helm = HELM_VERSIONS[0] ?? '', file = 'minimal-values.yaml' } = options;
  const text = typeof values === 'string' ? values : stringify(values);
  const key = JSON.stringify([command, helm, file, text]);
  const run = RUNS.get(key) ?? runWith(command.split(' '), helm, file, text);
  RUNS.set(key, run);
  return run;
}

async function runWith(
  [command = '', ...options]: readonly string[],
  helm: string,
  file: string | null,
  text: string,
): Promise<Ended> {
  const own = join(await tempFolder(), 'values.yaml');
  await writeFile(own, text);
  const files = [file === null ? [] : ['-f', join(CHART, 'ci', file)], '-f', own].flat();
  return runHelm(helm, command, 'weir', CHART, ...options, '--namespace', 'gateways', ...files);
}

/** An object of Kubernetes, or a part of one. */
export class Manifest {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  get kind(): unknown {
    return this.at('kind');
  }

  get name(): unknown {
    return this.at('metadata.name');
  }

  /** The value at `spec.ports.0.name`; undefined: there is none. */
  at(path: string): unknown {
    let value = this.#value;
    for (const key of path.split('.')) value = Object(value)[key];
    return value;
  }

  /** The parts at `spec.ports`. */
  parts(path: string): Manifest[] {
    const value = this.at(path) ?? [];
    if (!Array.isArray(value)) throw new Error(`${path} is no list`);
    return value.map(part => new Manifest(part));
  }

  toJSON(): unknown {
    return this.#value;
  }
}

/** Reads YAML 1.1, as Kubernetes does: 0440 is octal. */
function manifestsIn(text: string): Manifest[] {
  const documents = parseAllDocuments(text, { version: '1.1' }).map(document => document.toJS());
  return documents.filter(value => value !== null).map(value => new Manifest(value));
}

/** An installation with these values on top of the minimal ones, or of another of the values files. */
export class Rendered {
  readonly manifests: readonly Manifest[];

  constructor(text: string) {
    this.manifests = manifestsIn(text);
  }

  static async of(values: object | string, options: TemplateOptions = {}): Promise<Rendered> {
    const { code, out, err } = await template(values, options);
    if (code !== 0) throw new Error(err);
    return new Rendered(out);
  }

  all(kind: string): Manifest[] {
    return this.manifests.filter(manifest => manifest.kind === kind);
  }

  one(kind: string, name?: string): Manifest {
    const [found, ...others] = this.all(kind).filter(
      manifest => name === undefined || manifest.name === name,
    );
    if (found === undefined || others.length > 0) throw new Error(`not one ${kind} ${name ?? ''}`);
    return found;
  }
}
