import { loadLimitTest } from '../config/index.ts';
import { runTest } from '../offline/limit-tests/index.ts';
import { readArguments } from './arguments.ts';
import { type Command, ExitCode } from './command.ts';
import { asLines, reportErrors } from './output.ts';

export const command: Command = {
  help: `Runs tests of limits: sends the requests of a test file through the gateway's own code, in virtual time, and compares what
happens with what the file expects. With the key "gateway" in the file, the routes of that gateway.yaml apply, too. Opens no
connection and needs no secret.

weir test FILE...

  FILE      a file of tests, such as config/limits.test.yaml; "weir schema test" describes its keys
  --help    show this text

Exit code: 0 all tests passed, 1 one failed, 64 wrong command line, 78 a file has errors.
`,
  async run(args, terminal) {
    const { positionals } = readArguments(args, {}, ['FILE', ...args.slice(1).map(() => '[FILE]')]);
    const counts = { passed: 0, failed: 0 };
    for (const path of positionals) {
      const loaded = await loadLimitTest(path, terminal.env);
      if (!loaded.ok) return reportErrors(terminal, loaded.diagnostics);
      for (const [index, { name, starts, requests }] of loaded.tests.entries()) {
        const failures = await runTest(loaded.snapshot, starts, requests);
        counts[failures.length === 0 ? 'passed' : 'failed']++;
        const errors = failures.map(({ path: at, message }) =>
          loaded.errorAt(['tests', index, 'requests', ...at], message),
        );
        if (errors.length > 0) terminal.out(`FAILED: ${name}\n${asLines(errors)}`);
      }
    }
    const { passed, failed } = counts;
    terminal.out(failed === 0 ? `${passed} passed\n` : `${failed} failed, ${passed} passed\n`);
    return failed === 0 ? ExitCode.ok : ExitCode.failure;
  },
};
