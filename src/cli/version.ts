import { readVersion } from '../core/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, ExitCode } from './command.ts';

export const command: Command = {
  help: `Prints the version.

weir version [OPTIONS]

  --verbose   also the versions of Node.js and OpenSSL that run it
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
  return [
    `weir     ${readVersion()}`,
    `node     ${node}, ${process.platform} ${process.arch}, ${process.execPath}`,
    `openssl  ${openssl}`,
    `v8       ${v8}`,
    '',
  ].join('\n');
}
