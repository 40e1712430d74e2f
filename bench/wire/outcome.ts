import { connect } from 'node:net';
import type { RecordingService } from './recording-service.ts';
import type { Vector } from './vectors.ts';

/** What became of a vector: the judgement, and what the client was told. */
export interface Outcome {
  /**
   * `refused`: nothing reached the service. `repaired`: something did, without the harm. `passed`: a valid request arrived as it
   * was. `let through`: the harm reached the service. `broken`: a valid request did not.
   */
  readonly judgement: 'refused' | 'repaired' | 'passed' | 'let through' | 'broken';
  /** The status of the first final response, `closed` without one, or `silent` after a second. */
  readonly told: string;
}

/** How long a gateway may be silent until its client gives up, milliseconds. */
const SILENCE_MS = 1_000;

/** Sends the bytes of a vector to a gateway and looks at what arrived behind it. */
export async function outcomeOf(vector: Vector, port: number, service: RecordingService): Promise<Outcome> {
  service.take();
  const told = await send(vector.bytes, port);
  return { judgement: judge(vector, service.take()), told };
}

/** Judges by what has arrived at the service. */
export function judge({ harm, arrives, most = 1 }: Vector, arrived: string): Outcome['judgement'] {
  if (harm === null) return arrives?.test(arrived) === true ? 'passed' : 'broken';
  if (arrived === '') return 'refused';
  const requests = arrived.match(/(^|\n)[A-Z(\0]+[ \t]+\S* HTTP\/\d/g)?.length ?? 0;
  return harm.test(arrived) || requests > most ? 'let through' : 'repaired';
}

/** Resolves when the gateway has answered with a final response, has closed, or says nothing more. */
function send(bytes: string, port: number): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const done = (told: string) => {
      socket.destroy();
      resolve(told);
    };
    const told = () => /HTTP\/1\.[01] ([2-5]\d\d)/.exec(received)?.[1];
    socket.setTimeout(SILENCE_MS, () => done(told() ?? 'silent'));
    socket.on('data', piece => {
      received += piece.toString('latin1');
      // What follows a response, such as that to a hidden request, comes at once or with the next turns.
      if (told() !== undefined) socket.setTimeout(150);
    });
    socket.on('error', () => done(told() ?? 'closed'));
    socket.on('close', () => done(told() ?? 'closed'));
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}
