import type { Clock } from '../core/index.ts';
import type { RenderedAnswer } from '../gateway/index.ts';

/** The bytes of an answer for a connection on which Node has no response object to write it with. Latin-1. */
export function rawAnswer(answer: RenderedAnswer, clock: Clock): string {
  let head = `HTTP/1.1 ${answer.status} ${answer.reason}\r\n`;
  for (let i = 0; i + 1 < answer.fields.length; i += 2)
    head += `${answer.fields[i]}: ${answer.fields[i + 1]}\r\n`;
  return `${head}Date: ${new Date(clock.epochMs()).toUTCString()}\r\nConnection: close\r\n\r\n${answer.body}`;
}
