import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import {
  ConfigFile,
  type Diagnostic,
  formatPath,
  type Path,
  Readings,
} from '../../../../src/config/file/index.ts';
import { limitsSchema } from '../../../../src/config/limits/index.ts';
import { type JsonSchema, jsonSchemaOf, validate } from '../../../../src/config/schema/index.ts';
import { gatewaySchema, gatewaySecrecy, limitsSecrecy } from '../../../../src/config/settings/index.ts';
import { runs, seedOfRun } from '../../../support/runs.ts';
import { tempFolder } from '../../../support/temp.ts';

interface Key {
  readonly isOfLimits: boolean;
  readonly path: Path;
}

/** Every key of a file, by a path to one that may be written. */
function keysOf(schema: JsonSchema, path: Path = []): Path[] {
  const ways = [schema, ...(schema.anyOf ?? [])].flatMap(way => {
    const parts: [string | number, unknown][] = Object.entries(way.properties ?? {});
    parts.push([0, way.items], [path.at(-1) === 'routes' ? 'GET /a' : 'x', way.additionalProperties]);
    return parts.filter((part): part is [string, JsonSchema] => typeof part[1] === 'object');
  });
  return ways.flatMap(([step, part]) => [[...path, step], ...keysOf(part, [...path, step])]);
}

const KEYS: readonly Key[] = [
  ...keysOf(jsonSchemaOf('gateway')).map(path => ({ isOfLimits: false, path })),
  ...keysOf(jsonSchemaOf('limits')).map(path => ({ isOfLimits: true, path })),
];

/** What people write: values of other keys, other spellings, too much, too little. */
const VALUES: readonly unknown[] = [
  ...[
    '2xy',
    '4xx',
    'yes',
    'Off',
    'true',
    'none',
    'nonce',
    'any',
    'a b',
    'a, b',
    'x'.repeat(70),
    'ünï',
    '',
    ' ',
  ],
  ...['10', '0', '10k', '1_000', '10 mb', '64', '5 min', '1.5s', '2d', '100', '50%', '0.5', '99999999999'],
  ...[
    '5/5',
    '5/0',
    '5/3000',
    '5/400days',
    '5/s',
    '5/1.5h',
    '5 / 1s',
    '05/1s',
    '0/1s',
    '5/minutes',
    '2000000000/1s',
  ],
  ...[
    '8080',
    ':8080',
    '*:80',
    '[::1]',
    '[::1]:99999',
    'http://[::1]:80/',
    'localhost',
    '1.2.3.4',
    '1.2.3.4/99',
  ],
  ...[
    'http://x',
    'https://x.test/',
    'http://x/a;b/',
    'http://u:p@x/',
    'x.test/a',
    'x.test//a',
    '/a/',
    '//',
    '/',
  ],
  ...[
    'X-Forwarded-For',
    'X Y',
    'get',
    '*',
    '*.x',
    'Europe/Berlim',
    'a:b',
    '/a/{b}',
    '/**',
    '~2',
    'svc',
    'p.S/M',
  ],
  ...[0, 1, -1, 1.5, 60, 404, 700, 8080, 99_999_999_999, true, false],
  ...[{}, [], ['a'], ['a', 'a'], [404, 404, '5xx'], ['5/1s', '9/1s'], { x: 1 }],
];

/** What is said of this value of a key, and of what is in it. */
async function saidOf({ isOfLimits, path }: Key, value: unknown, name: string): Promise<string[]> {
  const written = path.reduceRight<unknown>(
    (part, step) => (typeof step === 'number' ? [part] : { [step]: part }),
    value,
  );
  await writeFile(name, stringify(written));
  const secrecy = isOfLimits ? limitsSecrecy : gatewaySecrecy;
  const file = await ConfigFile.read(name, {}, new Readings(), secrecy);
  if (isOfLimits) validate(file, limitsSchema);
  else validate(file, gatewaySchema);
  const place = formatPath(path);
  const isOfKey = ({ message }: Diagnostic) => message.startsWith(place) && !message.includes('missing key');
  return file.diagnostics.filter(isOfKey).map(({ message }) => message.slice(place.length));
}

const WORD = String.raw`(?:"[^":]+"|[^\s,"{]+)`;
const PROPOSAL = [
  /^: .*, did you mean (.+)\?$/s,
  new RegExp(String.raw`^: .*\bwrite (${WORD}(?:(?:, | or )${WORD})*)$`, 's'),
];

/** What a message proposes in place of the value, in YAML. */
function proposalsIn(message: string): string[] {
  const found = PROPOSAL.map(form => form.exec(message)?.[1]).find(text => text !== undefined) ?? '';
  const isOne = /^"?[[{]/.test(found);
  return isOne ? [found] : (found.match(new RegExp(WORD, 'g')) ?? []).filter(word => word !== 'or');
}

const MISTAKES = runs(30_000, 1_000);

test('what a message proposes in place of a value is accepted, and every message is in our words', async () => {
  const name = join(await tempFolder(), 'file.yaml');
  let proposals = 0;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES), async (key, value) => {
      for (const message of await saidOf(key, value, name)) {
        // What is said of the keys in a map is about their names.
        const isOfValue = typeof value !== 'object' || Array.isArray(value);
        expect(message).not.toMatch(/Invalid (?:input|option|key)|Too (?:small|big)/);
        for (const proposal of isOfValue ? proposalsIn(message) : []) {
          proposals++;
          expect(await saidOf(key, parse(proposal), name), `${formatPath(key.path)}${message}`).toEqual([]);
        }
      }
    }),
    { numRuns: MISTAKES, seed: seedOfRun(), endOnFailure: true },
  );
  expect(proposals).toBeGreaterThan(MISTAKES / 75);
});
