/** The path from the top of a file to a value: keys of maps, indices of lists. */
export type Path = readonly (string | number)[];

/** Formats a path for messages: `routes[0].timeouts.idle`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}
