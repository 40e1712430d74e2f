import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

/** Makes a wheel with one file that no packer makes short. */
const WHEEL = `
import random, sys, zipfile
name = sys.argv[1]
info = name + '-1.0.dist-info/'
with zipfile.ZipFile('dist-' + name + '/' + name + '-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr(name + '/__init__.py', 'x = 42\\n')
    wheel.writestr(name + '/long.bin', random.Random(1).randbytes(3_000_000))
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: ' + name + '\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;

/** An index of Python packages. */
export const pypiServer: Application = {
  name: 'pypiserver 2.4',
  usedBy: '`twine upload` of 3 MB, `pip install`, `pip index versions`',
  pythonPackages: ['pypiserver==2.4.2', 'twine==7.0.0'],
  nginx: ['the upload of 3 MB is refused: 413', /twine upload/],
  async start(folder) {
    await writeFile(join(folder, 'wheel.py'), WHEEL);
    await mkdir(join(folder, 'packages'));
    const port = await freePort();
    const options = ['-i', '127.0.0.1', '-p', `${port}`, '-P', '.', '-a', '.', 'packages'];
    return startProgram(folder, port, 'venv/bin/pypi-server', 'run', ...options);
  },
  async use(url, folder, name) {
    const tool = (program: string, ...args: string[]) => run(folder, `venv/bin/${program}`, ...args);
    const pip = (...args: string[]) =>
      tool('pip', ...args, '--disable-pip-version-check', '--no-cache-dir', '--index-url', `${url}/simple/`);
    await mkdir(join(folder, `dist-${name}`));
    await tool('python', 'wheel.py', name);
    const uploaded = ['--repository-url', `${url}/`, '-u', 'any', '-p', 'any', '--non-interactive'];
    await tool(
      'twine',
      'upload',
      ...uploaded,
      '--disable-progress-bar',
      `dist-${name}/${name}-1.0-py3-none-any.whl`,
    );
    await pip('install', '--quiet', '--no-deps', '--target', `installed-${name}`, name);
    const script = `import ${name}, os; print(${name}.x, os.path.getsize(os.path.join(os.path.dirname(${name}.__file__), 'long.bin')))`;
    const installed = await run(
      join(folder, `installed-${name}`),
      join(folder, 'venv/bin/python'),
      '-c',
      script,
    );
    return installed + (await pip('index', 'versions', name)).replaceAll(name, 'NAME');
  },
};
