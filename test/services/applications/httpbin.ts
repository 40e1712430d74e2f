import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

/** Runs tests that were written for an httpbin in their own process, with another one in its place, and prints how each ended. */
const SUITE = `
import contextlib, sys
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

class Outcomes:
    lines = []
    def pytest_collection_modifyitems(self, items):
        # The rest asks servers of the suite, or none.
        items[:] = [item for item in items if {'httpbin', 'httpbin_both'} & set(item.fixturenames)]
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

const SOURCE = 'requests-2.34.2';
const DESELECTED = [
  'test_proxy_authorization_preserved_on_request',
  // Its outcome follows from where the chunks of a body end, which proxies may change (RFC 9112, 7.1).
  'test_response_iter_lines_reentrant',
].map(test => `--deselect=tests/test_requests.py::TestRequests::${test}`);

/** httpbin as gunicorn serves it, and the tests of a client that were written for it. */
export const httpbin: Application = {
  name: 'httpbin 0.10 (gunicorn 27.0)',
  usedBy:
    'the tests of requests 2.34 that ask it, but for the one of `Proxy-Authorization`, which [ends at the gateway](contract.md)',
  pythonPackages: [
    'requests==2.34.2 as source',
    'httpbin==0.10.4',
    'gunicorn==27.0.1',
    'pytest==9.2.0',
    'pytest-httpbin==2.1.0',
    'pytest-mock==3.17.0',
    'trustme==1.2.1',
    'PySocks==1.7.1',
  ],
  async start(folder) {
    await run(folder, 'tar', 'xzf', `venv/sources/${SOURCE}.tar.gz`);
    await writeFile(join(folder, SOURCE, 'suite.py'), SUITE);
    const port = await freePort();
    const options = ['--bind', `127.0.0.1:${port}`, '--threads', '8'];
    return startProgram(folder, port, 'venv/bin/gunicorn', ...options, 'httpbin:app');
  },
  use: (url, folder) =>
    run(join(folder, SOURCE), join(folder, 'venv/bin/python'), 'suite.py', url, ...DESELECTED, 'tests'),
};
