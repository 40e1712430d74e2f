/** The colour of the most important line. */
export const DARK = '#52606d';
export const GREY = '#9aa5b1';
export const ORANGE = '#d9480f';
export const BLUE = '#2f6fde';
export const GRID = '#d0d7de';

/** A picture on white. `label`: a description for screen readers. */
export function svgOf(width: number, height: number, label: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#1f2933" role="img" aria-label="${label}">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** A line through points such as `1,2 3,4`. `dash`: '' for none. */
export function lineThrough(points: string, colour: string, dash = ''): string {
  return `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="1.5"${dash && ` stroke-dasharray="${dash}"`}/>`;
}

export function textAt(x: number, y: number, text: string, more = ''): string {
  return `<text x="${round(x)}" y="${round(y)}"${more && ` ${more}`}>${escaped(text)}</text>`;
}

export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, character => `&#${character.charCodeAt(0)};`);
}
