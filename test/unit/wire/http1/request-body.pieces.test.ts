import { expect, test } from 'vitest';
import { RequestBody } from '../../../../src/wire/http1/request-body.ts';

/** Reads the reads one after the other; returns the pieces that were handed on, and how much of each read was taken. */
function piecesOf(reads: readonly string[]) {
  const nothing = () => {};
  const body = new RequestBody('chunked', {
    ...{ bodyStarted: nothing, bodyFlowChanged: nothing, bodyTooLarge: nothing },
  });
  const pieces: string[] = [];
  const chunk = (bytes: Buffer) => pieces.push(bytes.toString('latin1')) > 0;
  body.start({ chunk, end: () => pieces.push('end'), fail: nothing });
  const taken = reads.map(read => body.read(Buffer.from(read, 'latin1')));
  return { pieces, taken, bytes: body.bytes };
}

test('chunks that come in one read are passed on as one piece, however small they are', () => {
  const { pieces, taken, bytes } = piecesOf([
    `${'1\r\na\r\n'.repeat(1_000)}3;x=y\r\nbcd\r\n28\r\n${'e'.repeat(40)}\r\n0\r\n\r\nGET /next`,
  ]);
  expect(pieces).toEqual([`${'a'.repeat(1_000)}bcd${'e'.repeat(40)}`, 'end']);
  expect(taken).toEqual([6_063]);
  expect(bytes).toBe(1_043);
});

test('the part of the body in one read is passed on before the next read', () => {
  expect(piecesOf(['2\r\nab\r\n4\r', '\ncd', 'ef\r\n0\r\n', '\r\n']).pieces).toEqual([
    'ab',
    'cd',
    'ef',
    'end',
  ]);
});
