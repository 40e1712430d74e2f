import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHART, INSTALLATIONS, runHelm, template, VALUES_FILES } from './chart.ts';
import { HELM_VERSIONS } from './helm-fetched.ts';

describe.each(INSTALLATIONS)('Helm $helm with ci/$file', ({ helm, file }) => {
  it('finds nothing to correct', async () => {
    const { code, out } = await runHelm(helm, 'lint', '--strict', CHART, '-f', join(CHART, 'ci', file));
    expect({ code, complaints: out.match(/\[(WARNING|ERROR)\].*/g) }).toEqual({ code: 0, complaints: null });
  });

  it('renders manifests without a warning', async () => {
    const { code, err } = await template({}, { helm, file });
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });
});

describe('both versions of Helm', () => {
  it.each(VALUES_FILES)('render the same with ci/%s', async file => {
    const [first, ...others] = await Promise.all(HELM_VERSIONS.map(helm => template({}, { helm, file })));
    expect(others).toEqual([first]);
  });
});
