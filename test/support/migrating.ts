import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { examplesIn } from './doc-examples.ts';
import { type LocalGateway, startGatewayFrom } from './gateway.ts';
import { tempFolder } from './temp.ts';

const document = await readFile('docs/migrating.md', 'utf8');

/** Weir's files on the page. */
export const examples = examplesIn('docs/migrating.md', document);

/** The one example of another gateway that holds this word. */
export function exampleOf(language: 'nginx' | 'yaml', word: string): string {
  const blocks = document.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'));
  const found = Array.from(blocks, ([, text = '']) => text).filter(text => text.includes(word));
  expect(found, word).toHaveLength(1);
  return found[0] ?? '';
}

/** Weir's gateway.yaml that holds this word. */
export const gatewayYaml = (word: string): string =>
  examples.find(({ file, text }) => file === 'gateway.yaml' && text.includes(word))?.text ?? '';

/** The cells of the table of the page that begins with this heading. */
export function rowsOf(heading: string): string[][] {
  const [, table = ''] = document.split(`| ${heading} |`);
  const lines = (table.split('\n\n', 1)[0] ?? '').split('\n').slice(2);
  return lines.map(line =>
    line
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim().replaceAll('`', '')),
  );
}

/** Puts the addresses of this machine in place of those that an example shows; each must be there. */
export function placed(text: string, addresses: Readonly<Record<string, string>>): string {
  let out = text;
  for (const [shown, real] of Object.entries(addresses)) {
    expect(out).toContain(shown);
    out = out.replaceAll(shown, real);
  }
  return out;
}

/** Starts Weir with a gateway.yaml of the page. */
export async function startFile(text: string, limits: string | null = null): Promise<LocalGateway> {
  const folder = await tempFolder();
  if (limits !== null) await writeFile(join(folder, 'limits.yaml'), limits);
  const path = join(folder, 'gateway.yaml');
  const log = /^log:/m.test(text) ? '' : 'log: { level: silent }\n';
  await writeFile(path, `${text}${log}caps: { limit_keys: 10000, event_loop_delay: off }\n`);
  return startGatewayFrom(path, { OIDC_CLIENT_SECRET: 'test' });
}

/** Starts Weir with its files for the task of the page. */
export function startTask(issuer: string, upstreamPort: number): Promise<LocalGateway> {
  const text = placed(gatewayYaml('identity_headers'), {
    '0.0.0.0:8080': '127.0.0.1:0',
    'https://id.example.com/realms/main': issuer,
    '127.0.0.1:3000': `127.0.0.1:${upstreamPort}`,
  });
  return startFile(text, examples.find(({ file }) => file === 'limits.yaml')?.text ?? '');
}
