// For the workflow of releases. `check vX.Y.Z` fails where the files are not of that version, the changelog does not date it, or it has
// changes that are not of this version, whose notes would lack them;
// `notes vX.Y.Z` prints what the changelog says of it. Needs no package, so that a wrong tag fails before any is installed.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './manifest.ts';

const [task = '', tag = ''] = process.argv.slice(2);
const version = /^v(\d+\.\d+\.\d+)$/.exec(tag)?.[1];
if (version === undefined || !['check', 'notes'].includes(task)) fail('usage: release.ts check|notes vX.Y.Z');
const { date, text } = sectionOf(version);

if (task === 'check') {
  const chart = read('helm/weir/Chart.yaml');
  const inChart = (key: string) => new RegExp(`^${key}: (.+)$`, 'm').exec(chart)?.[1];
  const versions = {
    'package.json': JSON.parse(read('package.json')).version,
    'package-lock.json': JSON.parse(read('package-lock.json')).version,
    'version in helm/weir/Chart.yaml': inChart('version'),
    'appVersion in helm/weir/Chart.yaml': inChart('appVersion'),
    'UPGRADE.md': read('UPGRADE.md').includes(`\n## ${version}\n`) ? version : 'without a section',
  };
  const others = Object.entries(versions).filter(([, found]) => found !== version);
  if (others.length > 0) fail(`not ${version}: ${others.map(each => each.join(' is ')).join(', ')}`);
  const [, unreleased = ''] = /^## \[Unreleased\]\n([\s\S]*?)(?=^## )/m.exec(read('CHANGELOG.md')) ?? [];
  if (unreleased.trim() !== '') fail(`CHANGELOG.md has changes under "Unreleased": move them to ${version}`);
  console.log(`${version}, dated ${date}`);
} else console.log(text);

/** The section of a version in the changelog, without its heading. */
function sectionOf(wanted: string): { readonly date: string; readonly text: string } {
  const [, ...sections] = read('CHANGELOG.md').split(/^## \[/m);
  const section = sections.find(each => each.startsWith(`${wanted}] - `)) ?? '';
  const [, date] = /^\S+ - (\d{4}-\d\d-\d\d)\n/.exec(section) ?? [];
  if (date === undefined) return fail(`CHANGELOG.md has no section "## [${wanted}] - YYYY-MM-DD"`);
  return { date, text: section.slice(section.indexOf('\n')).trim() };
}

function read(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8');
}

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}
