import { HOLES_LISTED_ON, nodeHoles, readVersion } from '../core/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, ExitCode } from './command.ts';

export const version: Command = {
  help: `Prints the version.

weir version [OPTIONS]

  --verbose   also the versions of Node.js and OpenSSL that run it, and known holes of that Node.js which concern a gateway
  --help      show this text

Exit code: 0, or 64 for a wrong command line.
`,
  async run(args, terminal) {
    const { values } = readArguments(args, { verbose: { type: 'boolean' } });
    terminal.out(values.verbose === true ? inFull() : `${readVersion()}\n`);
    return ExitCode.ok;
  },
};

function inFull(): string {
  const { node, openssl, v8 } = process.versions;
  const holes = nodeHoles(node);
  const known = `known on ${HOLES_LISTED_ON}`;
  return [
    `weir     ${readVersion()}`,
    `node     ${node}, ${process.platform} ${process.arch}, ${process.execPath}`,
    `openssl  ${openssl}`,
    `v8       ${v8}`,
    holes.length === 0
      ? `No hole of this Node.js that concerns a gateway was ${known}.`
      : `Holes of this Node.js, ${known}; docs/operations.md says how to take a newer one:`,
    ...holes.map(hole => `  - ${hole}`),
    '',
  ].join('\n');
}
