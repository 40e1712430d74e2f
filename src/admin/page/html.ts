/** Markup in which everything from outside is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlPart = string | number | Html | readonly HtmlPart[];

/** The tag of a template: escapes each part that is not markup itself, so that nothing can be forgotten. */
export function html(markup: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(markup.map((text, at) => (at === 0 ? text : textOf(parts[at - 1] ?? '') + text)).join(''));
}

function textOf(part: HtmlPart): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return escapeHtml(String(part));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '');
}
