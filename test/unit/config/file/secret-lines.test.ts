import { describe, expect, it } from 'vitest';
import { problemsIn } from '../../../support/config-text.ts';

/** Each breaks the file by its characters, which the parser would quote. */
const BROKEN = [
  'client_secret: *hunter2',
  'client_secret: "hunter2\\q"',
  'client_secret: "hunter2\\xZZ"',
  'client_secret: @hunter2',
  'client_secret: %hunter2',
  'client_secret: `hunter2`',
  'client_secret: !hunter2 x',
  'client_secret: hunter2: hunter2',
  'client_secret: "hunter2" hunter2',
  'client_secret: "$' + '{hunter2 hunter2}"',
  '"client_secret": *hunter2',
  'client_secret:\n    *hunter2',
];

describe('a secret that breaks the file', () => {
  it.each(BROKEN)('is not shown: %s', async line => {
    const problems = await problemsIn(`identity_provider:\n  ${line}\n`);
    expect(problems).not.toEqual([]);
    expect(problems.join('\n')).not.toContain('hunter2');
  });

  it('is told what to write in its place', async () => {
    const [problem] = (await problemsIn('identity_provider:\n  client_secret: *hunter2\n')).slice(-1);
    expect(problem).toMatch(
      /^2:\d+: this line cannot be read, and is not shown for the secret in it: write /,
    );
  });
});

describe('another line that breaks the file', () => {
  it('is quoted, as it helps to find the mistake', async () => {
    expect((await problemsIn('identity_provider:\n  scope: *openid\n')).join()).toContain('openid');
  });

  it('may be a doubled key or an unset variable, which show no secret', async () => {
    const text = 'identity_provider:\n  client_secret: "$' + '{NOPE}"\n  client_secret: "$' + '{NOPE}"\n';
    const problems = await problemsIn(text);
    expect(problems).toContain('2:18: the environment variable NOPE is not set');
    expect(problems).toContain('3:3: this key is already there');
  });
});
