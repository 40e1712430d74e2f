import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../scripts/bundle.ts';
import { type Bill, imageBill } from '../../scripts/image/image-bill.ts';
import { billOfMaterials, readPackage } from '../../scripts/third-party.ts';
import { CHECKOUT } from '../support/packed.ts';

/** Run-time dependencies of which no line is in the bundle: what src/ uses of the others does not reach them. */
const NOT_INSIDE = ['jose', 'pino-abstract-transport', 'process-warning', 'real-require', 'split2'];
const NODE = { node: '26.99.1', openssl: '3.5.9', v8: '13.6.1', modules: '137' };

const versionOf = (name: string): string =>
  JSON.parse(readFileSync(join(CHECKOUT, 'package.json'), 'utf8')).dependencies[name];

let folder: string;
let bill: Bill;
let image: Bill;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-bill-'));
  const inside = (await bundle(join(folder, 'dist'))).map(readPackage);
  bill = JSON.parse(billOfMaterials(inside));
  const root = join(folder, 'root');
  const files = {
    'var/lib/dpkg/status.d/libc6':
      'Package: libc6\nVersion: 2.41-12+deb13u1\nArchitecture: amd64\nDepends: libgcc-s1\n',
    'usr/share/doc/libc6/copyright': "The text is in `/usr/share/common-licenses/LGPL-2.1'.\n",
    'var/lib/dpkg/status.d/netbase': 'Package: netbase\nVersion: 6.5\nArchitecture: all\n',
    'usr/share/doc/netbase/copyright':
      'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\nFiles: *\nLicense: GPL-2+\n in /usr/share/common-licenses/GPL-2\n',
    'var/lib/dpkg/status':
      'Package: removed\nStatus: deinstall ok config-files\nVersion: 1\n\nPackage: held\nStatus: hold ok installed\nVersion: 2\n',
    'var/lib/dpkg/status.d/libc6.md5sums': 'Package: none\nVersion: 1\n',
    'opt/weir/node_modules/@some/exporter/package.json':
      '{ "name": "@some/exporter", "version": "1.2.3", "license": "Apache-2.0" }',
    'opt/weir/node_modules/other/node_modules/@some/exporter/package.json':
      '{ "name": "@some/exporter", "version": "1.2.3", "license": "Apache-2.0" }',
    'opt/weir/node_modules/zod/package.json': `{ "name": "zod", "version": "${versionOf('zod')}" }`,
    'opt/weir/node_modules/@some/exporter/build/package.json': '{ "type": "commonjs" }',
    'opt/weir/node_modules/.cache/weir/package.json': '{}',
  };
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  image = imageBill({ bill, root, versions: NODE });
});

afterAll(() => rm(folder, { recursive: true }));

test('the bill of the package has each run-time dependency of the lock file, with its version and licence', () => {
  const { packages } = JSON.parse(readFileSync(join(CHECKOUT, 'package-lock.json'), 'utf8'));
  const locked = Object.entries<Record<string, string | boolean | undefined>>(packages)
    .filter(([path, { dev, devOptional, optional, peer }]) => {
      return path !== '' && !dev && !devOptional && !optional && !peer;
    })
    .map(([path, { version, license }]) => [path.replace('node_modules/', ''), version, license]);
  const listed = bill.components.map(({ name, version, licenses }) => [name, version, licenseIn(licenses)]);
  expect(listed.toSorted()).toEqual(locked.filter(([name]) => !NOT_INSIDE.includes(String(name))).toSorted());
  expect(locked.map(([name]) => name)).toEqual(expect.arrayContaining(NOT_INSIDE));
});

test('the bill of the image has Node.js, the packages of Debian and npm packages next to the gateway', () => {
  const found = (name: string) => image.components.find(each => each.name === name);
  expect(found('node')).toMatchObject({
    version: '26.99.1',
    licenses: [{ license: { id: 'MIT' } }],
    cpe: 'cpe:2.3:a:nodejs:node.js:26.99.1:*:*:*:*:*:*:*',
    components: [{ name: 'openssl', version: '3.5.9' }, { name: 'v8' }],
  });
  expect(found('libc6')?.['purl']).toBe('pkg:deb/debian/libc6@2.41-12%2Bdeb13u1?arch=amd64');
  expect(found('libc6')?.['licenses']).toEqual([{ license: { name: 'LGPL-2.1' } }]);
  expect(found('held')?.version).toBe('2');
  expect(found('netbase')?.['licenses']).toEqual([{ license: { name: 'GPL-2+' } }]);
  expect(found('@some/exporter')).toMatchObject({ version: '1.2.3', purl: 'pkg:npm/%40some/exporter@1.2.3' });
  expect(found('weir-gateway')?.['licenses']).toEqual([{ license: { id: 'Apache-2.0' } }]);
  expect(image.components).toHaveLength(bill.components.length + 6);
  const [whole] = image.dependencies;
  expect(whole?.dependsOn).toHaveLength(6);
});

test('the bill of the image names what is there twice once', () => {
  const refs = image.components.map(each => each['bom-ref']);
  expect(refs.filter((ref, index) => refs.indexOf(ref) !== index)).toEqual([]);
});

test.each([
  ['package', () => bill],
  ['image', () => image],
])('the bill of the %s is valid CycloneDX 1.6', (_, billOf) => {
  const folderOf = dirname(fileURLToPath(import.meta.resolve('@cyclonedx/cyclonedx-library/package.json')));
  const schema = (name: string) =>
    JSON.parse(readFileSync(join(folderOf, `res/schema/${name}.SNAPSHOT.schema.json`), 'utf8'));
  const ajv = new Ajv({ strict: false });
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  formats.default(ajv);
  ajv.addFormat('iri-reference', true);
  ajv.addFormat('idn-email', true);
  const isValid = ajv.compile(schema('bom-1.6'));
  isValid(billOf());
  expect(isValid.errors).toBeNull();
  expect(billOf()).toMatchObject({ specVersion: '1.6' });
});

function licenseIn(licenses: unknown): unknown {
  const [{ license }] = licenses as [{ readonly license: { readonly id: string } }];
  return license.id;
}
