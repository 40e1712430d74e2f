import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const CHECKOUT = resolve(import.meta.dirname, '../..');

/** The folders that hold documents; of each only the files in it. */
const FOLDERS = ['', 'docs/', 'docs/decisions/', 'src/', 'bench/', 'helm/weir/'];

/** A Markdown file of the project. */
export class Document {
  /** `docs/limits.md`. */
  readonly name: string;
  readonly text: string;
  /** The text without its code blocks. */
  readonly prose: string;
  readonly #blocks: readonly { readonly language: string; readonly code: string }[];

  constructor(name: string) {
    this.name = name;
    this.text = readFileSync(join(CHECKOUT, name), 'utf8');
    this.prose = this.text.replaceAll(BLOCK, '');
    this.#blocks = Array.from(this.text.matchAll(BLOCK), ([, language = '', code = '']) => ({
      language,
      code,
    }));
  }

  /** The text between backquotes. */
  get codeSpans(): string[] {
    return Array.from(this.prose.matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g), ([, code = '']) =>
      code.replace(/\s+/g, ' '),
    );
  }

  /** The lines of code blocks in one language; '' where a block names none, as those do that show a shell. */
  blockLines(language: string): string[] {
    return this.#blocks.filter(block => block.language === language).flatMap(({ code }) => code.split('\n'));
  }

  /** Targets of its links within the project: file (empty: this one) and anchor (null: none). */
  get links(): { readonly file: string; readonly anchor: string | null }[] {
    return Array.from(
      this.prose.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g),
      ([, file = '', anchor]) => ({ file, anchor: anchor ?? null }),
    );
  }

  /** Its headings as the site that shows it turns them into anchors. */
  get anchors(): Set<string> {
    return new Set(Array.from(this.prose.matchAll(/^#+ (.+)$/gm), ([, heading = '']) => anchorOf(heading)));
  }

  /** The prose below a heading, up to the next of its level or a higher one. */
  section(heading: string): string {
    const start = this.prose.split(`\n${heading}\n`)[1];
    if (start === undefined) throw new Error(`${this.name} has no "${heading}"`);
    const level = heading.indexOf(' ');
    return start.split(new RegExp(`^#{1,${level}} `, 'm'))[0] ?? '';
  }
}

const BLOCK = /^ *```(\w*)\n([\s\S]*?)^ *```$/gm;

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Every document that git tracks, by its path. */
export const DOCUMENTS: readonly Document[] = FOLDERS.flatMap(folder =>
  readdirSync(join(CHECKOUT, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => new Document(folder + name)),
);

export function documentNamed(name: string): Document {
  const found = DOCUMENTS.find(document => document.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}
