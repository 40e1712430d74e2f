import { describe, expect, it } from 'vitest';
import { documentNamed } from '../support/documents.ts';
import { template } from './chart.ts';

/** The examples of values, in order. */
function examplesIn(name: string): string[] {
  const blocks = documentNamed(name).text.matchAll(/^( *)```yaml\n([\s\S]*?)^ *```$/gm);
  return Array.from(blocks, ([, indent = '', body = '']) =>
    body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

describe.each(['docs/kubernetes.md', 'helm/weir/README.md'])('%s', name => {
  it('shows values first that need no others', async () => {
    expect(await template(examplesIn(name)[0] ?? '', { file: null })).toMatchObject({ code: 0, err: '' });
  });
});

describe.each(['docs/kubernetes.md', 'docs/kubernetes-platforms.md', 'helm/weir/README.md'])('%s', name => {
  it.each(examplesIn(name))('shows values that can be installed: example %#', async example => {
    expect(await template(example)).toMatchObject({ code: 0, err: '' });
  });
});
