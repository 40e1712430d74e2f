import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/index.ts';
import { testJsonSchema } from '../../src/config/index.ts';
import { tempFolder } from '../support/temp.ts';

const LIMITS = `global: { user: 4/1s }
buckets: { files: { main: id, user: 2/5s, resource: 3/10s } }
routes: { "GET /files/{id}": files }
`;

async function weir(...words: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommandLine(words, {
    env: {},
    out: text => void out.push(text),
    err: text => void err.push(text),
  });
  return { code, out: out.join(''), err: err.join('') };
}

/** Runs one test with these requests against the limits above. */
async function test(...requests: readonly string[]) {
  const folder = await tempFolder();
  const list = requests.map(request => `      - ${request}\n`).join('');
  await writeFile(join(folder, 'limits.yaml'), LIMITS);
  await writeFile(join(folder, 'a.yaml'), `tests:\n  - name: it is so\n    requests:\n${list}`);
  const ended = await weir('test', join(folder, 'a.yaml'));
  return {
    ...ended,
    out: ended.out.replaceAll(`${folder}/`, ''),
    err: ended.err.replaceAll(`${folder}/`, ''),
  };
}

const ALICE = 'by: { user: [web, alice] }, send: GET /files/1';

describe('weir test', () => {
  it('passes the tests that ship with the example', async () => {
    expect(await weir('test', 'config/limits.test.yaml')).toEqual({ code: 0, out: '5 passed\n', err: '' });
  });

  it('decides in virtual time, with the slack of the gateway', async () => {
    const ended = await test(
      `{ ${ALICE}, repeat: 2, expect: { outcome: admitted, bucket: files, limit: 2, remaining: 0, reset_after: 5s } }`,
      `{ at: 4979ms, ${ALICE}, expect: { outcome: bucket, retry_after: 21ms } }`,
      `{ at: 4980ms, ${ALICE}, expect: { outcome: admitted } }`,
    );
    expect(ended).toEqual({ code: 0, out: '1 passed\n', err: '' });
  });

  it('waits between repetitions', async () => {
    const spread = await test(`{ ${ALICE}, repeat: 4, every: 5s, expect: { outcome: admitted } }`);
    expect(spread.out).toBe('1 passed\n');
  });

  it('tells callers apart, and the limits that refuse', async () => {
    const ended = await test(
      `{ ${ALICE}, repeat: 2, expect: { outcome: admitted } }`,
      '{ by: { bot: [web, alice] }, send: GET /files/1, expect: { outcome: admitted } }',
      '{ by: { address: 192.0.2.7 }, send: GET /files/1, expect: { outcome: resource, retry_after: 10s } }',
      '{ by: { user: [web, alice] }, send: GET /other, repeat: 2, expect: { outcome: admitted, bucket: none } }',
      '{ by: { user: [web, alice] }, send: GET /other, expect: { outcome: global, retry_after: 1s } }',
    );
    expect(ended.out).toBe('1 passed\n');
  });

  it('says at which line and column something else came than expected', async () => {
    const ended = await test(
      `{ at: 1s, ${ALICE}, repeat: 3, expect: { outcome: admitted } }`,
      `{ at: 1s, ${ALICE}, expect: { remaining: 1, retry_after: 4s, bucket: none } }`,
      `{ at: 500ms, ${ALICE}, expect: {} }`,
    );
    expect(ended.code).toBe(1);
    expect(ended.out.split('\n')).toEqual([
      'FAILED: it is so',
      'a.yaml:4:97: expected admitted, got bucket at request 3 of 3',
      'a.yaml:5:116: expected none, got files',
      'a.yaml:5:88: expected 1, got 0',
      'a.yaml:5:104: expected 4s, got 5s',
      'a.yaml:6:15: expected a moment from 1s, when the requests above end, got 500ms',
      '1 failed, 0 passed',
      '',
    ]);
  });

  it('refuses unknown keys and what is not a request, with suggestions', async () => {
    const ended = await test(
      `{ ${ALICE}, expct: { outcome: admitted } }`,
      `{ ${ALICE}, expect: { outcome: admited } }`,
      '{ by: { user: [alice], bot: [alice] }, send: get /, expect: { outcome: admitted } }',
    );
    expect(ended.code).toBe(78);
    expect(ended.err).toContain('unknown key "expct", did you mean "expect"?');
    expect(ended.err).toContain('a.yaml:5:78: tests[0].requests[1].expect.outcome: expected');
    expect(ended.err).toContain('did you mean "admitted"?');
    expect(ended.err).toContain('name exactly one caller: user, bot or address');
    expect(ended.err).toContain('expected a method and a path such as GET /v1/things/7, found "get /"');
  });

  it('reports errors of the limits, and tests several files at once', async () => {
    const folder = await tempFolder();
    const file = join(folder, 'a.yaml');
    await writeFile(file, 'limits: nowhere.yaml\ntests: []\n');
    const shipped = 'config/limits.test.yaml';
    expect(await weir('test', file)).toMatchObject({
      code: 78,
      err: expect.stringContaining('nowhere.yaml'),
    });
    expect((await weir('test', shipped, shipped)).out).toBe('10 passed\n');
    expect((await weir('test')).err).toContain('weir test: missing FILE');
  });

  it('has a JSON Schema, by which the shipped file names it', async () => {
    const { out } = await weir('schema', 'test');
    expect(JSON.parse(out)).toEqual(JSON.parse(JSON.stringify(testJsonSchema())));
    expect(JSON.parse(out).$id).toBe('test.schema.json');
    expect(await readFile('config/limits.test.yaml', 'utf8')).toContain('$schema=test.schema.json\n');
  });
});
