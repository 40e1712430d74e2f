import { escapeHtml } from '../../core/index.ts';
import { isoTime } from './status.ts';

/** Markup that is safe to send: all text in it is escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlPart = string | number | Html | readonly HtmlPart[];

/** A template tag that escapes every part except markup, so that no escaping can be forgotten. */
export function html(markup: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(markup.map((text, at) => (at === 0 ? text : textOf(parts[at - 1] ?? '') + text)).join(''));
}

function textOf(part: HtmlPart): string {
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return escapeHtml(String(part));
}

/** A time for display: in UTC to the second, and how long ago or ahead it is. */
export function momentHtml(epochMs: number, nowMs: number): Html {
  const iso = isoTime(epochMs);
  const words = epochMs > nowMs ? `in ${span(epochMs - nowMs)}` : `${span(nowMs - epochMs)} ago`;
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}Z</time> <small>(${words})</small>`;
}

/** A time that the page shows in the time zone of its reader, and in UTC where scripts do not run. */
export function localMomentHtml(epochMs: number): Html {
  const iso = isoTime(epochMs);
  return html`<time class="local" datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}Z</time>`;
}

/** A duration in its two largest units: `3d 4h`, `12m 5s`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([number]) => number > 0);
  if (first < 0) return '0s';
  return parts
    .slice(first, first + 2)
    .filter(([number]) => number > 0)
    .map(([number, unit]) => `${number}${unit}`)
    .join(' ');
}

/**
 * Replaces the content of the page by the current content. Scripts in it do not run, because it is parsed from text. Waits while
 * text is selected, so that it can be copied.
 */
export const SCRIPT = `
const EVERY_MS = 2000;
const live = document.getElementById('live');
const LOCAL = { dateStyle: 'medium', timeStyle: 'short' };
function showLocalTimes() {
  for (const time of document.querySelectorAll('time.local')) {
    time.title = time.textContent;
    time.textContent = new Date(time.dateTime).toLocaleString(undefined, LOCAL);
  }
}
async function update() {
  try {
    if (document.hidden || !getSelection().isCollapsed) return;
    const response = await fetch(location.href, { cache: 'no-store' });
    if (!response.ok) throw new Error(response.status);
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of ['main', '#word', '#facts']) document.querySelector(part).replaceWith(next.querySelector(part));
    showLocalTimes();
    document.title = next.title;
    live.textContent = 'updates itself';
    live.className = '';
  } catch {
    live.textContent = 'no longer up to date: the gateway does not answer';
    live.className = 'ill';
  } finally {
    setTimeout(update, EVERY_MS);
  }
}
live.textContent = 'updates itself';
showLocalTimes();
setTimeout(update, EVERY_MS);
`;

export const STYLE = `
:root { color-scheme: light dark; --ground: #f6f7f9; --card: #fff; --text: #1b1f24; --quiet: #59636e; --line: #d6dbe1; --well: #146c2e; --ill: #a51d15; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #101418; --card: #181d23; --text: #e3e8ee; --quiet: #9aa5b1; --line: #313a44; --well: #6fcf8a; --ill: #ff9c94; }
}
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 75rem; padding: 1rem; background: var(--ground); color: var(--text); }
h1 { font-size: 1.3rem; margin: 0; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
header { display: flex; flex-wrap: wrap; gap: .2rem 1rem; align-items: baseline; margin-bottom: 1rem; }
header p, .note { margin: 0; color: var(--quiet); }
.note { margin-top: .5rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; margin-bottom: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-top: 1px solid var(--line); overflow-wrap: break-word; }
.facts td, .list td:last-child { overflow-wrap: anywhere; }
thead th, .facts tr:first-child > * { border-top: 0; }
thead th { color: var(--quiet); font-weight: 500; font-size: .85rem; }
tbody th { font-weight: 600; }
.facts th { width: 13rem; color: var(--quiet); font-weight: 500; }
.narrow { display: none; }
.list time, .list small { white-space: nowrap; }
.number { font-variant-numeric: tabular-nums; }
small { color: var(--quiet); font-size: .85em; }
header p.well, .well { color: var(--well); font-weight: 600; }
header p.ill, .ill { color: var(--ill); font-weight: 600; }
code { font: .9em ui-monospace, monospace; }
@media (max-width: 45rem) {
  body { padding: .6rem; }
  .facts th, .facts td { display: block; width: auto; padding: .15rem 0; }
  .facts td { border-top: 0; padding-bottom: .4rem; }
  .list, .list tbody, .list tr, .list th, .list td { display: block; }
  .list thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .list tr.idle { display: none; }
  .narrow { display: block; }
  .list tr { border-top: 1px solid var(--line); padding: .4rem 0; }
  .list tr:first-child { border-top: 0; }
  .list tbody th, .list td { border: 0; padding: .1rem 0; }
  .list th, .list td { overflow-wrap: anywhere; }
  .list td { display: flex; justify-content: space-between; gap: 1rem; }
  .list td > span { text-align: right; min-width: 0; }
  .list td::before { content: attr(data-column); color: var(--quiet); flex: none; }
}
`;

/** A section with a heading. `note`: explains an empty or shortened list; empty for none. */
export function pageSection(title: string, content: HtmlPart, note: HtmlPart = []): Html {
  const id = title.toLowerCase().replaceAll(/\W+/g, '-');
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${content}${isEmpty(note) ? '' : html`<p class="note">${note}</p>`}
</section>
`;
}

function isEmpty(part: HtmlPart): boolean {
  return part === '' || (Array.isArray(part) && part.length === 0);
}

export type NamedValue = readonly [name: string, value: HtmlPart];

/** A table with a heading and a value in each row that applies. Line feeds in values become line breaks. */
export function factTable(rows: readonly (NamedValue | false)[]): Html {
  const lines = rows
    .filter(row => row !== false)
    .map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${lined(value)}</td></tr>\n`);
  return html`<table class="facts">\n${lines}</table>\n`;
}

export function lined(value: HtmlPart): HtmlPart {
  if (typeof value !== 'string') return value;
  return value.split('\n').map((line, at) => (at === 0 ? line : [html`<br>`, line]));
}

/** A column of a list: its heading, and a function that makes the cell of an item. `false`: left out. */
export type Column<Item> = readonly [heading: string, cell: (item: Item) => HtmlPart] | false;

/**
 * A table with a row for each item, whose first cell is its heading. On a phone, each row is a card whose cells name their
 * columns. The `role` attributes keep the meaning of the elements, which `display: block` would remove.
 *
 * @param isIdle whether a phone hides the row; default: none
 */
export function listTable<Item>(
  items: readonly Item[],
  all: readonly Column<Item>[],
  isIdle: (item: Item) => boolean = () => false,
): Html {
  const columns = all.filter(column => column !== false);
  const heads = columns.map(([heading]) => html`<th role="columnheader" scope="col">${heading}</th>`);
  const lines = items.map(item => {
    const cells = columns.map(([heading, cell], at) => cellOf(heading, cell(item), at));
    return html`<tr role="row"${isIdle(item) ? html` class="idle"` : ''}>${cells}</tr>\n`;
  });
  return html`<table class="list" role="table">
<thead role="rowgroup"><tr role="row">${heads}</tr></thead>
<tbody role="rowgroup">
${lines}</tbody>
</table>
`;
}

function cellOf(column: string, cell: HtmlPart, at: number): Html {
  if (at === 0) return html`<th role="rowheader" scope="row" data-column="${column}">${cell}</th>`;
  const numeric = typeof cell === 'number' ? html` class="number"` : '';
  return html`<td role="cell" data-column="${column}"${numeric}><span>${cell}</span></td>`;
}
