// Runs while the image is built: writes the bill of materials of the image, which is that of the package with Node.js, the packages
// of Debian and the npm packages beside the bundle. It has no date and no serial number, so that the same image gets the same file.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Component {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly [key: string]: unknown;
}

/** CycloneDX 1.6, as far as it is looked into. */
export interface Bill {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface ImageContents {
  readonly bill: Bill;
  /** The root of the image's files. */
  readonly root: string;
  /** `process.versions` of the Node.js in it. */
  readonly versions: Readonly<Record<string, string | undefined>>;
}

/** Where the gateway is in the image. */
const HOME = 'opt/weir';

export function imageBill({ bill, root, versions }: ImageContents): Bill {
  const gateway = bill.metadata.component;
  // npm installs a package of one version more than once where others stand between; a list of parts has each once.
  const inside = new Set(bill.components.map(each => each['bom-ref']));
  const beside = [nodeComponent(versions), ...debianPackages(root), ...npmPackages(root)].filter(
    each => !inside.has(each['bom-ref']) && inside.add(each['bom-ref']),
  );
  const image: Component = { ...gateway, 'bom-ref': 'image', type: 'container' };
  return {
    ...bill,
    metadata: { ...bill.metadata, component: image },
    components: [gateway, ...bill.components, ...beside],
    dependencies: [
      { ref: 'image', dependsOn: [gateway['bom-ref'], ...beside.map(each => each['bom-ref'])] },
      ...bill.dependencies,
    ],
  };
}

function nodeComponent({ node = '', modules: _, ...inside }: ImageContents['versions']): Component {
  const libraries = Object.entries(inside).map(([name, version = '']) => ({
    ...{ 'bom-ref': `node/${name}@${version}`, type: 'library', name, version },
  }));
  return {
    ...{ 'bom-ref': `node@${node}`, type: 'platform', name: 'node', version: node },
    purl: `pkg:generic/node@${node}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${node}:*:*:*:*:*:*:*`,
    licenses: [{ license: { id: 'MIT' } }],
    components: libraries,
  };
}

/** Reads what dpkg has noted, in one file or, as images without a package manager have it, in a file for each package. */
function debianPackages(root: string): Component[] {
  const notes = join(root, 'var/lib/dpkg/status');
  const folder = `${notes}.d`;
  const files = existsSync(folder)
    ? readdirSync(folder)
        .filter(name => !name.endsWith('.md5sums'))
        .map(name => join(folder, name))
    : [];
  const texts = [notes, ...files].filter(path => existsSync(path)).map(path => readFileSync(path, 'utf8'));
  return texts
    .flatMap(text => text.split(/\n\n+/))
    .flatMap(paragraph => debianPackage(root, paragraph) ?? []);
}

function debianPackage(root: string, paragraph: string): Component | null {
  const fields = new Map(
    Array.from(paragraph.matchAll(/^(\w+): (.+)$/gm), ([, name = '', value = '']) => [name, value]),
  );
  const [name, version, architecture] = ['Package', 'Version', 'Architecture'].map(field =>
    fields.get(field),
  );
  if (name === undefined || version === undefined) return null;
  // dpkg remembers packages that were removed. Images without it have no status.
  if (!/^(.* installed)?$/.test(fields.get('Status') ?? '')) return null;
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture ?? 'all'}`;
  return { 'bom-ref': purl, type: 'library', name, version, purl, ...debianLicenses(root, name) };
}

/**
 * The licences that the package's copyright file names, in Debian's words, which are not always those of SPDX: its `License` fields, or,
 * in a file without such fields, the common licences that it points at. Source: Debian Policy Manual, 12.5.
 */
function debianLicenses(root: string, name: string): Readonly<Record<string, unknown>> {
  const path = join(root, 'usr/share/doc', name, 'copyright');
  if (!existsSync(path)) return {};
  const text = readFileSync(path, 'utf8');
  const pattern = text.startsWith('Format:') ? /^License: *(\S.*)$/gm : /common-licenses\/([\w.-]*\w)/g;
  const names = new Set(Array.from(text.matchAll(pattern), ([, found = '']) => found.trim()));
  return names.size === 0 ? {} : { licenses: Array.from(names, each => ({ license: { name: each } })) };
}

/** The packages of EXTRA_PACKAGES, and what they brought. */
function npmPackages(root: string): Component[] {
  const folder = join(root, HOME, 'node_modules');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => name === 'package.json' && PACKAGE_FOLDER.test(parentPath))
    .map(({ name, parentPath }) => npmPackage(readFileSync(join(parentPath, name), 'utf8')));
}

const PACKAGE_FOLDER = /\/node_modules\/(@[^/]+\/)?[^/@.][^/]*$/;

function npmPackage(manifest: string): Component {
  const { name, version, license } = JSON.parse(manifest);
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const licenses = typeof license === 'string' ? { licenses: [{ expression: license }] } : {};
  return { 'bom-ref': `${name}@${version}`, type: 'library', name, version, purl, ...licenses };
}

if (import.meta.main) {
  const bill: Bill = JSON.parse(readFileSync(`/${HOME}/dist/sbom.cdx.json`, 'utf8'));
  const whole = imageBill({ bill, root: '/', versions: process.versions });
  writeFileSync(`/${HOME}/sbom.cdx.json`, `${JSON.stringify(whole, null, 2)}\n`);
}
