import { setTimeout as sleep } from 'node:timers/promises';
import type { SigningAlgorithm } from '../test/support/token-issuer.ts';
import { cpuMicroseconds, residentMebibytes } from './cpu.ts';
import { type Figure, figureOf } from './figures.ts';
import type { Issuer } from './issuer.ts';
import type { LoadGenerator } from './load.ts';
import type { Part } from './part.ts';
import { OPEN_PATH, TOKEN_PATH } from './parts.ts';
import { sendEach } from './send.ts';

const CONNECTIONS = 64;
const COLD_TOKENS = 4_000;
const FORGED_TOKENS = 100_000;
const PIECE = 10_000;

export interface TokenOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly load: LoadGenerator;
  readonly progress: (text: string) => void;
}

export interface TokenReport {
  /** Processor time of a request with a known token above that of the same request on a route that asks for none. */
  readonly knownAbovePlain: Figure;
  readonly plain: Figure;
  readonly known: Figure;
  /** The same of tokens that are seen for the first time. */
  readonly coldAbovePlain: Readonly<Record<'RS256' | 'ES256', Figure>>;
  readonly forged: ForgedReport;
}

export interface ForgedReport {
  readonly requests: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly microsecondsPerRequest: number;
  /** Of the gateway's process, MiB. */
  readonly residentBefore: number;
  readonly residentAfter: number;
}

/** What tokens cost the gateway, which asks for them at `TOKEN_PATH` and not at `OPEN_PATH`. */
export async function measureTokens(weir: Part, issuer: Issuer, options: TokenOptions): Promise<TokenReport> {
  const { plain, known } = await measureKnown(weir, issuer, options);
  const cold = async (algorithm: SigningAlgorithm) =>
    figureOf(await measureCold(weir, issuer, algorithm, options));
  const coldAbovePlain = { RS256: await cold('RS256'), ES256: await cold('ES256') };
  return {
    plain: figureOf(plain),
    known: figureOf(known),
    knownAbovePlain: figureOf(known.map((value, round) => value - (plain[round] ?? Number.NaN))),
    coldAbovePlain,
    forged: await measureForged(weir, issuer, options),
  };
}

/** Both in turns and in changing order, with the same header: what is left of the difference is the look at the token. */
async function measureKnown(weir: Part, issuer: Issuer, { load, rounds, seconds, progress }: TokenOptions) {
  const headers = { Authorization: `Bearer ${issuer.token('RS256')}` };
  const sample = async (path: string, forSeconds: number): Promise<number> => {
    const before = cpuMicroseconds(weir.pid);
    const url = `http://127.0.0.1:${weir.port}${path}`;
    const { requests, failures } = await load.run({
      url,
      headers,
      connections: CONNECTIONS,
      seconds: forSeconds,
    });
    if (failures > 0 || requests === 0) throw new Error(`${failures} of ${requests} requests failed`);
    return (cpuMicroseconds(weir.pid) - before) / requests;
  };
  progress('warming up with a known token');
  for (const path of [OPEN_PATH, TOKEN_PATH]) await sample(path, 2);
  const [plain, known]: [number[], number[]] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    progress(`known token, round ${round} of ${rounds}`);
    if (round % 2 === 0) known.push(await sample(TOKEN_PATH, seconds));
    plain.push(await sample(OPEN_PATH, seconds));
    if (round % 2 === 1) known.push(await sample(TOKEN_PATH, seconds));
  }
  return { plain, known };
}

async function measureCold(
  weir: Part,
  issuer: Issuer,
  algorithm: SigningAlgorithm,
  { rounds, progress }: TokenOptions,
): Promise<number[]> {
  const above: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress(`cold ${algorithm} tokens, round ${round} of ${rounds}`);
    const tokens = Array.from({ length: COLD_TOKENS }, () => issuer.token(algorithm));
    const plain = await costOfEach(weir, OPEN_PATH, tokens);
    above.push((await costOfEach(weir, TOKEN_PATH, tokens)) - plain);
  }
  return above;
}

async function costOfEach(weir: Part, path: string, tokens: readonly string[]): Promise<number> {
  const before = cpuMicroseconds(weir.pid);
  const statuses = await sendEach(`http://127.0.0.1:${weir.port}`, path, tokens);
  if (statuses.get(200) !== tokens.length)
    throw new Error(`not all were answered 200: ${[...statuses].join(' ')}`);
  return (cpuMicroseconds(weir.pid) - before) / tokens.length;
}

/** Piece by piece, so that the sender needs little memory and takes none from the machine. */
async function measureForged(weir: Part, issuer: Issuer, { progress }: TokenOptions): Promise<ForgedReport> {
  const statuses: Record<string, number> = {};
  const send = async () => {
    const tokens = Array.from({ length: PIECE }, () => issuer.forgedToken());
    const before = cpuMicroseconds(weir.pid);
    for (const [status, count] of await sendEach(`http://127.0.0.1:${weir.port}`, TOKEN_PATH, tokens))
      statuses[status] = (statuses[status] ?? 0) + count;
    return cpuMicroseconds(weir.pid) - before;
  };
  const residentBefore = residentMebibytes(weir.pid);
  let microseconds = 0;
  for (let sent = 0; sent < FORGED_TOKENS; sent += PIECE) {
    progress(`forged tokens, ${sent} of ${FORGED_TOKENS}`);
    microseconds += await send();
  }
  await sleep(1_000);
  return {
    requests: FORGED_TOKENS,
    statuses,
    microsecondsPerRequest: microseconds / FORGED_TOKENS,
    residentBefore,
    residentAfter: residentMebibytes(weir.pid),
  };
}

/** For people to read. */
export function tableOfTokens({
  plain,
  known,
  knownAbovePlain,
  coldAbovePlain,
  forged,
}: TokenReport): string {
  const row = (name: string, { median, lowest, highest }: Figure): string =>
    `${name.padEnd(28)}${median.toFixed(1).padStart(8)}${`${lowest.toFixed(1)} to ${highest.toFixed(1)}`.padStart(18)}`;
  const answers = Object.entries(forged.statuses).map(([status, count]) => `${count} × ${status}`);
  return [
    `${'CPU us/request'.padEnd(28)}${'median'.padStart(8)}${'range'.padStart(18)}`,
    row('plain, the header passes', plain),
    row('known token', known),
    row('known token above plain', knownAbovePlain),
    row('cold RS256 above plain', coldAbovePlain.RS256),
    row('cold ES256 above plain', coldAbovePlain.ES256),
    `${'forged, from one address'.padEnd(28)}${forged.microsecondsPerRequest.toFixed(1).padStart(8)}`,
    `  ${forged.requests} requests: ${answers.join(', ')}; resident ${forged.residentBefore.toFixed(0)} -> ${forged.residentAfter.toFixed(0)} MiB`,
  ].join('\n');
}
