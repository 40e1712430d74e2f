/** What a command returns. Text is bytes: one character for each, as Latin-1. `true` and maps are of RESP3 alone. */
export type Reply =
  | number
  | bigint
  | string
  | null
  | Simple
  | Failure
  | Double
  | Push
  | Pairs
  | readonly Reply[]
  | ReadonlyMap<string, Reply>;

/** A simple string, such as OK. */
export class Simple {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export const OK = new Simple('OK');

/** What Redis refuses, in its own words. */
export class Failure {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** What comes of a subscription. */
export class Push {
  readonly items: readonly Reply[];

  constructor(items: readonly Reply[]) {
    this.items = items;
  }
}

/** Members with their scores. */
export class Pairs {
  readonly entries: readonly [string, number][];

  constructor(entries: readonly [string, number][]) {
    this.entries = entries;
  }
}

export type Protocol = 2 | 3;

/** What a reply is on the wire. */
export function encode(reply: Reply, protocol: Protocol): string {
  if (typeof reply === 'bigint') return `:${reply}\r\n`;
  if (typeof reply === 'number') return `:${wholeText(reply)}\r\n`;
  if (typeof reply === 'string') return bulk(reply);
  if (reply === null) return protocol === 3 ? '_\r\n' : '$-1\r\n';
  if (reply instanceof Simple) return `+${reply.text}\r\n`;
  if (reply instanceof Failure) return `-${reply.text}\r\n`;
  if (reply instanceof Double)
    return protocol === 3 ? `,${formatDouble(reply.value)}\r\n` : bulk(formatDouble(reply.value));
  if (reply instanceof Push) return several(protocol === 3 ? '>' : '*', reply.items, protocol);
  if (reply instanceof Pairs) {
    const pairs = reply.entries.map(([member, score]) => [member, new Double(score)]);
    return several('*', protocol === 3 ? pairs : pairs.flat(), protocol);
  }
  if (!(reply instanceof Map)) return several('*', reply as readonly Reply[], protocol);
  const items = [...reply].flat();
  return several(protocol === 3 ? '%' : '*', items, protocol, protocol === 3 ? reply.size : items.length);
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}

function several(sign: string, items: readonly Reply[], protocol: Protocol, count = items.length): string {
  return `${sign}${count}\r\n${items.map(item => encode(item, protocol)).join('')}`;
}

const MOST = 2n ** 63n - 1n;
const LEAST = -(2n ** 63n);

/** A number without its fraction, as C casts it to 64 bits. */
function wholeText(value: number): string {
  if (Number.isSafeInteger(value)) return `${value === 0 ? 0 : value}`;
  if (!Number.isFinite(value)) return `${LEAST}`;
  const whole = BigInt(Math.trunc(value));
  return `${whole > MOST || whole < LEAST ? LEAST : whole}`;
}

const DIGITS = 17;

/** A double as `%.17g` writes it. */
export function formatDouble(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '-0' : `${value}`;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  const [mantissa = '', exponent = '0'] = value.toExponential(DIGITS - 1).split('e');
  const power = Number(exponent);
  if (power >= -4 && power < DIGITS) return withoutZeros(value.toFixed(DIGITS - 1 - power));
  return `${withoutZeros(mantissa)}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

function withoutZeros(digits: string): string {
  return digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
}

const DOUBLE = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity)$/i;

/** Reads a double as `strtod` does, but for hexadecimal ones; `null`: it is none. */
export function readDouble(text: string): number | null {
  if (/^[+-]?0x/i.test(text)) throw new Error(`the model of Redis reads no hexadecimal number: ${text}`);
  if (!DOUBLE.test(text)) return null;
  if (!/inf/i.test(text)) return Number(text);
  return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** Reads a whole number of 64 bits; `null`: it is none. */
export function readInteger(text: string): bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return null;
  const value = BigInt(text);
  return value > MOST || value < LEAST ? null : value;
}

/** Whether a number fits 64 bits. */
export function fits(value: bigint): boolean {
  return value <= MOST && value >= LEAST;
}
