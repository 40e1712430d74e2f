import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

/** Runs tests that were written for an httpbin in their own process, with another one in its place, and prints how each ended. */
const SUITE = `
import contextlib, os, sys, tempfile
import pytest
from pytest_httpbin import serve

url, *options = sys.argv[1:]
start = serve.Server.start

def start_elsewhere(server):
    start(server)
    # That of https stays: it is no business of the gateway.
    if server.protocol == 'http':
        server.host, server.port = url.removeprefix('http://').split(':')

serve.Server.start = start_elsewhere
# HTTPie's tests write into the settings of the user where those are below the folder of temporary files.
tempfile.tempdir = tempfile.mkdtemp(dir=os.getcwd())

def asks_https(item):
    return hasattr(item, 'callspec') and item.callspec.params.get('httpbin_both') == 'https'

class Outcomes:
    lines = []
    def pytest_collection_modifyitems(self, items):
        # The rest asks servers of the suite, or none.
        items[:] = [item for item in items if {'httpbin', 'httpbin_both'} & set(item.fixturenames) and not asks_https(item)]
    def pytest_runtest_logreport(self, report):
        if report.when == 'call' or report.outcome != 'passed':
            self.lines.append(report.outcome + ' ' + report.nodeid)
    def pytest_collectreport(self, report):
        if report.failed:
            self.lines.append('cannot read ' + report.nodeid)

with contextlib.redirect_stdout(sys.stderr):
    pytest.main(['-p', 'no:cacheprovider', *options], plugins=[Outcomes()])
print(*sorted(Outcomes.lines), sep='\\n')
`;

/** httpbin as gunicorn serves it, and the tests of a client that were written for it. */
function httpbinFor(
  client: string,
  version: string,
  more: readonly string[],
  without: readonly string[],
): Omit<Application, 'name' | 'usedBy'> {
  const source = `${client}-${version}`;
  return {
    pythonPackages: [
      `${client}==${version} as source`,
      'httpbin==0.10.4',
      'gunicorn==27.0.1',
      'pytest==9.2.0',
      'pytest-httpbin==2.1.0',
      ...more,
    ],
    async start(folder) {
      await run(folder, 'tar', 'xzf', `venv/sources/${source}.tar.gz`);
      await writeFile(join(folder, source, 'suite.py'), SUITE);
      const port = await freePort();
      const options = ['--bind', `127.0.0.1:${port}`, '--threads', '8'];
      return startProgram(folder, port, 'venv/bin/gunicorn', ...options, 'httpbin:app');
    },
    use(url, folder) {
      const options = without.map(test => `--deselect=tests/${test}`);
      return run(join(folder, source), join(folder, 'venv/bin/python'), 'suite.py', url, ...options, 'tests');
    },
  };
}

export const requests: Application = {
  name: 'httpbin 0.10 (gunicorn 27.0)',
  usedBy:
    'the tests of requests 2.34 that ask it, but for the one of `Proxy-Authorization`, which [ends at the gateway](contract.md)',
  ...httpbinFor(
    'requests',
    '2.34.2',
    ['pytest-mock==3.17.0', 'trustme==1.2.1', 'PySocks==1.7.1'],
    [
      'test_requests.py::TestRequests::test_proxy_authorization_preserved_on_request',
      // Its outcome follows from where the chunks of a body end, which proxies may change (RFC 9112, 7.1).
      'test_requests.py::TestRequests::test_response_iter_lines_reentrant',
    ],
  ),
};

export const httpie: Application = {
  name: 'httpbin 0.10, with HTTPie',
  usedBy: 'the tests of HTTPie 3.2 that ask it',
  // One test sends a field of this name, which is not one of HTTP.
  nginx: [
    'the field `baz[]` is left out, where the service refuses it: 400',
    /^passed .*test_nested_json_syntax\[input_json17-/m,
  ],
  ...httpbinFor(
    'httpie',
    '3.2.4',
    ['pytest-mock==3.17.0', 'responses==0.26.3'],
    [
      // These measure for how long nothing is typed, which a busy machine changes.
      'test_uploads.py::test_stdin_read_warning',
    ],
  ),
};
