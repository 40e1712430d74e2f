const UNITS: Readonly<Record<string, number>> = {
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** A quantity of Kubernetes as a number: `250m` is 0.25, `64Mi` is 67108864. */
export function parseQuantity(text: string | number): number {
  const [, number = '', unit = ''] = /^([\d.]+)([a-zA-Z]*)$/.exec(String(text)) ?? [];
  const factor = UNITS[unit];
  if (number === '' || factor === undefined) throw new Error(`no quantity: ${text}`);
  return Number(number) * factor;
}
