import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { documentNamed } from '../support/documents.ts';
import { CHECKOUT } from '../support/packed.ts';

// `npm run test:image` builds and runs it. These are the mistakes that show without that.

const LINES = readFileSync(join(CHECKOUT, 'Dockerfile'), 'utf8').split('\n');
const ALLOWED = readFileSync(join(CHECKOUT, '.dockerignore'), 'utf8').split('\n');
const { text } = documentNamed('docs/container.md');

it('every file that the build is let see exists', () => {
  const names = ALLOWED.filter(line => line.startsWith('!')).map(line => line.slice(1));
  expect(names).toContain('package-lock.json');
  expect(names.filter(name => !existsSync(join(CHECKOUT, name)))).toEqual([]);
});

it('every TypeScript file that the build runs may be seen by it', () => {
  const [, script = ''] = /^RUN node (\S+)$/m.exec(LINES.join('\n')) ?? [];
  const source = readFileSync(join(CHECKOUT, script), 'utf8');
  const imported = Array.from(source.matchAll(/from '\.\/([^']+)'/g), ([, name]) => `scripts/${name}`);
  expect(ALLOWED).toEqual(expect.arrayContaining([script, ...imported].map(name => `!${name}`)));
});

it.each(['BASE_IMAGE', 'BUILD_IMAGE'])('the document names the %s', name => {
  const [, image = ''] = new RegExp(`^ARG ${name}=(.+)$`, 'm').exec(LINES.join('\n')) ?? [];
  expect(text).toContain(`| \`${name}\` | \`${image}\``);
});

it('the document has its user, its command and its ports', () => {
  const lineOf = (word: string) => LINES.findLast(line => line.startsWith(`${word} `)) ?? '';
  expect(text).toContain(`\`${lineOf('ENTRYPOINT')}\`, \`${lineOf('CMD')}\``);
  expect(text).toContain(`| User | ${lineOf('USER').split(/[ :]/)[1]}, not root, by number |`);
  expect(text).toContain(`| Ports | ${lineOf('EXPOSE').split(' ').slice(1).join(' and ')} in the defaults.`);
});

it('the folder of state belongs to its user', () => {
  const user = /^USER (\d+:\d+)$/m.exec(LINES.slice(LINES.lastIndexOf('FROM gateway')).join('\n'))?.[1];
  expect(LINES).toContain(`COPY --from=build --chown=${user} /state /var/lib/weir`);
  expect(text).toContain('-v weir-state:/var/lib/weir');
});
