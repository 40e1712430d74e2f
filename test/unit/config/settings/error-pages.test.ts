import { expect, test } from 'vitest';
import { diagnosticsOf, loadFiles, NEEDED } from '../../../support/config-text.ts';

const load = (files: Readonly<Record<string, string | Buffer>>, key = 'error_pages: errors\n') =>
  loadFiles({ 'gateway.yaml': `${NEEDED}${key}`, ...files });

test('error pages are read by their statuses, up to 64 KiB, and changes of them are noticed', async () => {
  const loaded = await load({
    'errors/404.html': 'ä',
    'errors/5xx.html': 'x'.repeat(65_536),
    'errors/other.html': '',
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics));
  expect([...(loaded.snapshot.errorPages ?? [])].map(([status, text]) => [status, text.length])).toEqual([
    [404, 2],
    ['5xx', 65_536],
  ]);
  const { files } = loaded.readings.followed;
  expect(files.filter(file => /4xx\.html$|404\.html$/.test(file))).toHaveLength(2);
  const other = await load({ 'errors/404.html': 'b', 'errors/5xx.html': '' });
  expect(other.ok && other.snapshot.hash).not.toBe(loaded.snapshot.hash);
});

test.each<[string, Readonly<Record<string, string | Buffer>>, string]>([
  [
    'a folder that is missing',
    {},
    'there is no page in this folder, or no folder: write 4xx.html and 5xx.html into it',
  ],
  ['a folder without pages', { 'errors/index.html': '' }, 'there is no page in this folder, or no folder'],
  ['a page over 64 KiB', { 'errors/4xx.html': 'x'.repeat(65_537) }, '4xx.html: a page has at most 64 KiB'],
  [
    'a page that is not UTF-8',
    { 'errors/4xx.html': Buffer.from([0xff]) },
    '4xx.html: this line is not valid UTF-8',
  ],
])('error pages: %s is an error', async (_, files, message) => {
  expect(diagnosticsOf(await load(files))).toEqual([expect.stringContaining(`error_pages: ${message}`)]);
});

test('without error pages there are none', async () => {
  const loaded = await load({ 'errors/404.html': 'x' }, '');
  expect(loaded.ok && loaded.snapshot.errorPages).toBeNull();
});
