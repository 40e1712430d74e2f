import { parseDurationMs } from '../../core/index.ts';
import { formatSize, parseHostPort } from '../values/index.ts';

/** What the operator meant, probably. */
export interface Meant {
  /** The end of a message. */
  readonly words: string;
  /** What it says to write instead, in YAML; `null` if it only advises. */
  readonly instead: string | null;
}

/**
 * Guesses what the operator meant; `null` without a guess.
 *
 * @param expected the message, which describes the expected value
 */
export function whatWasMeant(expected: string, value: unknown): Meant | null {
  if (typeof value === 'object' || value === undefined) return null;
  const text = String(value).trim();
  // An "@" may follow a user and a password.
  if (text === '' || text.length > 100 || text.includes('@')) return null;
  const isText = typeof value === 'string';
  const found = GUESSES.find(([pattern]) => pattern.test(expected));
  const meant = found?.[1](text, expected, isText);
  if (meant === undefined || (meant.instead === text && meant.words === didYouMean(text).words)) return null;
  return meant;
}

type Guess = (text: string, expected: string, isText: boolean) => Meant | undefined;

const GUESSES: readonly (readonly [RegExp, Guess])[] = [
  [/a time such as/, meantTime],
  [/a size such as/, meantSize],
  [/a rate such as/, text => (/^\d+([KMG]i)?B$/.test(text) ? didYouMean(`${text}/s`) : undefined)],
  [/^expected true(?:,| or) false/, meantBoolean],
  [/^expected a percentage/, meantPercentage],
  [
    /^expected "required", "optional" or "none"/,
    text => (/^(false|off|no|open|public|anonymous)$/i.test(text) ? didYouMean('none') : undefined),
  ],
  [/^expected a whole number/, meantNumber],
  [/host:port/, meantHostPort],
  [/^expected an origin/, meantOrigin],
  [/^expected a network/, meantNetwork],
  [
    /^expected a URL/,
    (text, _, isText) =>
      portTooHigh(text) ?? (isText && isHostPort(text) ? didYouMean(`http://${text}`) : undefined),
  ],
  [
    /^expected a map such as \{ url:/,
    text => (isHostPort(text.replace(/^http:\/\//, '')) ? didYouMean(`{ url: "${text}" }`) : undefined),
  ],
  [
    /^expected a method such as/,
    text => (/^(\*|any|all)$/i.test(text) ? advise('leave out "methods" to match every method') : undefined),
  ],
  [
    /^expected the name of a header field/,
    text => (text === '*' ? advise('to allow all, write any in place of the list') : undefined),
  ],
  [/such as \[/, meantList],
];

function didYouMean(text: string): Meant {
  // Else YAML takes it for a list.
  const instead = /^\[.*\]./.test(text) ? JSON.stringify(text) : text;
  return { words: `, did you mean ${instead}?`, instead };
}

function withoutQuotes(text: string): Meant {
  return { words: `: write ${text} without quotes`, instead: text };
}

function advise(words: string): Meant {
  return { words: `: ${words}`, instead: null };
}

const UNITS: Readonly<Record<string, string>> = { ms: 'ms', s: 's', m: 'm', h: 'h', d: 'h' };
const MAX_MS = 86_400_000;

function meantTime(text: string): Meant | undefined {
  const [, number = '', word = ''] =
    /^(\d+(?:\.\d+)?)\s*(ms|msecs?|millis|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)?$/i.exec(
      text,
    ) ?? [];
  if (number === '') return undefined;
  if (word === '') return advise(`add a unit, such as ${number}ms or ${number}s`);
  const lower = word.toLowerCase();
  const unit = UNITS[/^(ms|milli)/.test(lower) ? 'ms' : lower.charAt(0)] ?? '';
  const count = Number(number) * (lower.startsWith('d') ? 24 : 1);
  const ms = count * (parseDurationMs(`1${unit}`) ?? 0);
  if (!Number.isSafeInteger(ms) || ms > MAX_MS) return undefined;
  return didYouMean(Number.isInteger(count) ? `${count}${unit}` : `${ms}ms`);
}

function meantSize(text: string): Meant | undefined {
  const [, number = '', word = ''] = /^(\d+)\s*([kmg]?i?b?|bytes?)$/i.exec(text) ?? [];
  if (number === '') return undefined;
  const power = 'kmg'.indexOf(word.charAt(0).toLowerCase()) + 1;
  const bytes = Number(number) * 1024 ** (word === '' ? 0 : power);
  return Number.isSafeInteger(bytes) ? didYouMean(formatSize(bytes)) : undefined;
}

function meantBoolean(text: string, _: string, isText: boolean): Meant | undefined {
  if (/^(true|false)$/i.test(text) && isText) return withoutQuotes(text.toLowerCase());
  if (/^(yes|y|on|1)$/i.test(text)) return didYouMean('true');
  return /^(no|n|off|0)$/i.test(text) ? didYouMean('false') : undefined;
}

/** Suggests a percentage, but none for 1, which may mean 1% or all. */
function meantPercentage(text: string): Meant | undefined {
  const number = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || number === 0 || number === 1 || number > 100) return undefined;
  return didYouMean(number > 1 ? `${number}%` : `${Number((number * 100).toPrecision(6))}%`);
}

function meantNumber(text: string, expected: string, isText: boolean): Meant | undefined {
  const [, min = 1, max = 0] = /(?: (\d+))? to (\d+)/.exec(expected) ?? [];
  const [, digits = '', kilo = ''] = /^(\d[\d_,']*)(k?)$/i.exec(text) ?? [];
  const number = Number(digits.replaceAll(/[_,']/g, '')) * (kilo === '' ? 1 : 1000);
  if (digits === '' || number < Number(min) || number > Number(max)) return undefined;
  return text === String(number) && isText ? withoutQuotes(text) : didYouMean(String(number));
}

const MAX_PORT = 65_535;

/** Names the highest port if the text has a higher one, perhaps with a digit too many. */
function portTooHigh(text: string): Meant | undefined {
  const port = /(?:^|:)(\d+)\/?$/.exec(text)?.[1];
  return port !== undefined && Number(port) > MAX_PORT
    ? advise(`the highest port is ${MAX_PORT}`)
    : undefined;
}

function meantHostPort(text: string, expected: string): Meant | undefined {
  const tooHigh = portTooHigh(text);
  if (tooHigh !== undefined) return tooHigh;
  const isHost = /[.[]|^localhost$/.test(text) && parseHostPort(text) === undefined;
  if (isHost && parseHostPort(text, 0) !== undefined) return advise('the port is missing, such as :8080');
  // Where the gateway listens; elsewhere nobody can guess the host.
  const [, host = ''] = / (0\.0\.0\.0|127\.0\.0\.1):/.exec(expected) ?? [];
  const plain = text
    .replace(/^https?:\/\//, '')
    .replace(/\/$/, '')
    .replace(/^\*?:/, `${host}:`);
  const place = /^\d+$/.test(plain) ? `${host}:${plain}` : plain;
  return place !== text && parseHostPort(place) !== undefined ? didYouMean(place) : undefined;
}

function isHostPort(text: string): boolean {
  return parseHostPort(text, 80) !== undefined;
}

function meantOrigin(text: string): Meant | undefined {
  if (text === '*') return advise('to allow every page, write "origins: any"');
  if (text.includes('*')) return advise('list each origin, patterns are not supported');
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  // Not what a number becomes.
  const isWritten = url !== null && text.toLowerCase().includes(url.hostname);
  const isKnown = isWritten && url.origin !== 'null' && /[.:]|^localhost$/.test(url.hostname);
  return isKnown ? didYouMean(url.origin) : undefined;
}

function meantNetwork(text: string, _: string, isText: boolean): Meant | undefined {
  if (text === '*') return advise('list the networks themselves');
  return isText && /[g-z]/i.test(text) ? advise('names are not looked up, write the address') : undefined;
}

/** A mark of YAML, or what may begin one: such text is quoted. */
const STARTS_WITH_A_MARK = /^[-?:*&!|>%@`]/;

/** Suggests a list for one entry, or for several entries in one text. */
function meantList(text: string): Meant | undefined {
  if (/[[\]{}"'#:]\s|[[\]{}"'#]/.test(text)) return undefined;
  const entries = text.split(/[\s,]+/).filter(entry => entry !== '');
  const list = `[${entries.map(entry => (STARTS_WITH_A_MARK.test(entry) ? JSON.stringify(entry) : entry)).join(', ')}]`;
  return { words: `, did you mean ${list}?`, instead: list };
}
