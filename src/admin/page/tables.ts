import { type Html, type HtmlPart, html } from './html.ts';

/** A section with a heading. `note`: what an empty or a cut list means; empty: nothing to say. */
export function section(title: string, content: HtmlPart, note: HtmlPart = []): Html {
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

/** A heading and a value in each row. Lines of a text become lines. */
export function factTable(rows: readonly (readonly [name: string, value: HtmlPart])[]): Html {
  const lines = rows.map(
    ([name, value]) => html`<tr><th scope="row">${name}</th><td>${lined(value)}</td></tr>\n`,
  );
  return html`<table class="facts">\n${lines}</table>\n`;
}

/** Lines of a text become lines. */
export function lined(value: HtmlPart): HtmlPart {
  if (typeof value !== 'string') return value;
  return value.split('\n').map((line, at) => (at === 0 ? line : [html`<br>`, line]));
}

/**
 * A table with a heading for each column; the first cell is its row's heading. On a phone each row is a card, in which each
 * cell names its column. The roles are those that the elements have until CSS makes blocks of them.
 *
 * @param isIdle which rows a phone leaves out. Default none.
 */
export function listTable(
  columns: readonly string[],
  rows: readonly (readonly HtmlPart[])[],
  isIdle: (at: number) => boolean = () => false,
): Html {
  const heads = columns.map(column => html`<th role="columnheader" scope="col">${column}</th>`);
  const lines = rows.map((row, at) => {
    const cells = row.map((cell, column) => cellOf(columns[column] ?? '', cell, column));
    return html`<tr role="row"${isIdle(at) ? html` class="idle"` : ''}>${cells}</tr>\n`;
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
