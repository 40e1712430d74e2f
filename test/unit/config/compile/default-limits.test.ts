import { describe, expect, it } from 'vitest';
import { hintsAtDefaultLimits } from '../../../../src/config/index.ts';
import { loadFiles, NEEDED } from '../../../support/config-text.ts';

const SIGNED_IN = `${NEEDED}identity_provider: { issuer: "https://id.test" }\naccess_tokens: { audience: api }\n`;

async function hints(limits: string | null, gateway = NEEDED): Promise<string[]> {
  const files = limits === null ? {} : { 'limits.yaml': limits };
  const loaded = await loadFiles({
    'gateway.yaml': limits === null ? gateway : `${gateway}limits: limits.yaml\n`,
    ...files,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  return hintsAtDefaultLimits(loaded.snapshot).map(
    ({ file, line, message, severity }) => `${file.replace(/^.*\//, '')}:${line}: ${severity}: ${message}`,
  );
}

const DEFAULT = 'it is 50/1s, which a page with many files exceeds. Write';

describe('a hint at global limits that no file names', () => {
  it('says the key to write, in the file where it belongs', async () => {
    expect(await hints(null)).toEqual([
      `gateway.yaml:1: hint: no limits file names the global limit of each address: ${DEFAULT} "global: { address: 500/10s }" into a file that "limits" names, or what your clients need`,
    ]);
    expect(await hints('invalid_requests: off\nglobal: { user: 80/1s }\n')).toEqual([
      `limits.yaml:2: hint: no limits file names the global limit of each address: ${DEFAULT} "global: { address: 500/10s }", or what your clients need`,
    ]);
    expect((await hints('invalid_requests: off\n', SIGNED_IN))[0]).toContain(
      'each user and address: it is 50/1s, which a page with many files exceeds. Write "global: { user: 500/10s, address: 500/10s }"',
    );
  });

  it('is absent where each is named, there is none, or no route draws on it', async () => {
    expect(await hints('global: { user: 50/1s, address: 50/1s }\n', SIGNED_IN)).toEqual([]);
    expect(await hints('global: off\n')).toEqual([]);
    const exempt = NEEDED.replace(/(authentication: none)/, '$1, global_limit: exempt');
    expect(exempt).not.toBe(NEEDED);
    expect(await hints(null, exempt)).toEqual([]);
  });
});
