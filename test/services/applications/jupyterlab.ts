import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const CLIENT = `
import base64, hashlib, json, re, sys, uuid
import requests, websocket
from urllib.parse import quote

url, name = sys.argv[1:]
session = requests.Session()
# A browser's sign-in: its cookies are named after the host.
page = session.get(url + '/lab')
print(page.status_code, [answer.headers['Location'] for answer in page.history])
page = session.post(url + '/login?next=%2Flab', data={'_xsrf': session.cookies['_xsrf'], 'password': 'secret'}, headers={'Origin': url})
print(page.status_code, page.url, [key.replace(url[7:].replace('.', '-').replace(':', '-'), 'HOST') for key in sorted(session.cookies.keys())])
for asset in sorted(set(re.findall(r'(?:src|href)="([^"]+)"', page.text))):
    if asset.startswith('/'):
        answer = session.get(url + asset)
        print(asset, answer.status_code, answer.headers['Content-Type'], hashlib.sha256(answer.content).hexdigest()[:8])
xsrf = {'X-XSRFToken': session.cookies['_xsrf'], 'Origin': url}
secret = {'_xsrf': session.cookies['_xsrf']}
print('without the token', session.post(url + '/api/kernels').status_code)
session.put(url + '/api/contents/' + name, json={'type': 'directory'}, headers=xsrf).raise_for_status()
for file in ['plain.txt', 'with space.txt', 'ä 100% #1?.txt', 'a;b=c&d+e.txt', "'()*!~@:$,.txt"]:
    at = '/' + name + '/' + quote(file, safe='')
    put = session.put(url + '/api/contents' + at, json={'type': 'file', 'format': 'text', 'content': file}, headers=xsrf)
    got = session.get(url + '/files' + at, params=secret)
    print(file, put.status_code, put.json().get('path', '').replace(name, ''), got.text == file, session.delete(url + '/api/contents' + at, headers=xsrf).status_code)
long = hashlib.sha256(b'seed').digest() * 200_000
put = session.put(url + '/api/contents/' + name + '/long', json={'type': 'file', 'format': 'base64', 'content': base64.b64encode(long).decode()}, headers=xsrf)
print('upload', put.status_code, session.get(url + '/files/' + name + '/long', params=secret).content == long)
cookie = '; '.join(n + '=' + v for n, v in session.cookies.items())
def connect(path):
    return websocket.create_connection('ws' + url[4:] + path, cookie=cookie, origin=url, timeout=120)
kernel = session.post(url + '/api/kernels', json={'name': 'python3'}, headers=xsrf).json()['id']
channels = connect('/api/kernels/' + kernel + '/channels?session_id=' + uuid.uuid4().hex)
def execute(code):
    header = {'msg_id': uuid.uuid4().hex, 'msg_type': 'execute_request', 'username': '', 'session': 's', 'version': '5.3'}
    channels.send(json.dumps({'channel': 'shell', 'header': header, 'parent_header': {}, 'metadata': {}, 'content': {'code': code, 'silent': False}}))
    text = ''
    while True:
        message = json.loads(channels.recv())
        if message['parent_header'].get('msg_id') != header['msg_id']:
            continue
        text += message['content'].get('text', '')
        if message['msg_type'] == 'status' and message['content']['execution_state'] == 'idle':
            return text
print(execute('print(6 * 7)'))
print('much output', hashlib.sha256(execute('print("x" * 3_000_000)').encode()).hexdigest())
print('a long cell', execute('x = "' + 'y' * 1_000_000 + '"; print(len(x))'))
channels.close()
print('kernel ends', session.delete(url + '/api/kernels/' + kernel, headers=xsrf).status_code)
terminal = session.post(url + '/api/terminals', json={}, headers=xsrf).json()['name']
shell = connect('/terminals/websocket/' + terminal)
shell.send(json.dumps(['stdin', 'echo $((6*7))$((1+1))\\r']))
text = ''
while '422' not in text:
    message = json.loads(shell.recv())
    text += message[1] if message[0] == 'stdout' else ''
print('the terminal answers')
try:
    websocket.create_connection('ws' + url[4:] + '/terminals/websocket/' + terminal, cookie=cookie, origin='http://elsewhere.example', timeout=60)
    print('a foreign page was let in')
except websocket.WebSocketBadStatusException as error:
    print('a foreign page', error.status_code)
shell.close()
print('terminal ends', session.delete(url + '/api/terminals/' + terminal, headers=xsrf).status_code)
`;

/** Its page, its files, a kernel and a terminal, as its page uses them. */
export const jupyterLab: Application = {
  name: 'JupyterLab 4.6 (Jupyter Server 2.21)',
  usedBy:
    'requests and websocket-client, as its page does: sign-in, page, files of 6 MiB, a kernel that runs code, a terminal',
  pythonPackages: [
    'jupyterlab==4.6.6',
    'jupyter_server==2.21.1',
    'ipykernel==7.4.0',
    'requests==2.34.2',
    'websocket-client==1.9.2',
  ],
  route: { websocket: true, semicolons: 'pass' },
  nginx: ['the file of 6 MiB is refused: 413', /413/],
  async start(folder) {
    await writeFile(join(folder, 'client.py'), CLIENT);
    await mkdir(join(folder, 'notebooks'));
    const port = await freePort();
    const options = [
      ['ip', '127.0.0.1'],
      ['port', `${port}`],
      ['root_dir', 'notebooks'],
    ].map(([key, value]) => `--ServerApp.${key}=${value}`);
    return startProgram(
      folder,
      port,
      'venv/bin/jupyter',
      'lab',
      '--no-browser',
      '--allow-root',
      '--IdentityProvider.token=secret',
      ...options,
    );
  },
  use: (url, folder, name) => run(folder, 'venv/bin/python', 'client.py', url, name),
};
