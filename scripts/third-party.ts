import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './manifest.ts';

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** Its expression in the words of SPDX. */
  readonly license: string;
  /** Its licence and, where it has one, its notice. */
  readonly texts: readonly string[];
}

/** The bill of materials that npm makes, as far as it is looked into: CycloneDX 1.5. */
interface Bill {
  serialNumber?: string;
  metadata: { timestamp?: string; component: { name: string; type: string; 'bom-ref': string } };
  components: { 'bom-ref': string; properties: { name: string; value: string }[] }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** npm writes 1.5; all that it writes means the same in 1.6. */
const FORM = { $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json', specVersion: '1.6' };

const LEGAL_FILE = /^(licen[cs]e|notice|copying)(\.\w+)?$/i;

/** Reads a package. Throws where it does not say its licence, or lacks the text that has to go along. */
export function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder).filter(file => LEGAL_FILE.test(file));
  if (typeof license !== 'string' || files.length === 0)
    throw new Error(`${name} is in the bundle and has no licence`);
  return {
    name,
    version,
    license,
    texts: files.map(file => readFileSync(join(folder, file), 'utf8').trim()),
  };
}

/** The licences of these packages as one text. */
export function noticesOf(packages: readonly BundledPackage[]): string {
  const parts = packages.map(
    ({ name, version, license, texts }) => `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`,
  );
  const rule = `\n${'-'.repeat(80)}\n\n`;
  return [`The scripts of Weir contain these ${packages.length} packages.\n`, ...parts].join(rule);
}

/**
 * The bill of materials of the bundle: what npm reads from the lock file, without what is not inside. Has no date and no serial
 * number, so that the same sources give the same file. Throws where a package inside is not a production dependency of the lock file.
 */
export function billOfMaterials(packages: readonly BundledPackage[]): string {
  // With --omit=dev, npm leaves out what a development dependency needs as well.
  const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
  const printed = execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const bill: Bill = JSON.parse(printed);
  const { component } = bill.metadata;
  const inside = new Set([
    component['bom-ref'],
    ...packages.map(({ name, version }) => `${name}@${version}`),
  ]);
  const components = bill.components.filter(each => inside.has(each['bom-ref']));
  if (components.length !== packages.length)
    throw new Error(`npm knows ${components.length} of the ${packages.length} packages in the bundle`);
  const forDevelopment = components.filter(isForDevelopment).map(each => each['bom-ref']);
  if (forDevelopment.length > 0)
    throw new Error(`in the bundle, but for development only: ${forDevelopment.join(', ')}`);
  const dependencies = bill.dependencies
    .filter(({ ref }) => inside.has(ref))
    .map(each => ({ ...each, dependsOn: each.dependsOn.filter(ref => inside.has(ref)) }));
  const { name } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { serialNumber: _, ...lasting } = bill;
  const { timestamp: __, ...metadata } = bill.metadata;
  // npm takes the folder's name, and a package without `main` for a library.
  const subject = { ...component, name, type: 'application' };
  const result = {
    ...lasting,
    ...FORM,
    metadata: { ...metadata, component: subject },
    components,
    dependencies,
  };
  return `${JSON.stringify(result, null, 2)}\n`;
}

function isForDevelopment({ properties }: Bill['components'][number]): boolean {
  return properties.some(({ name }) => name === 'cdx:npm:package:development');
}
