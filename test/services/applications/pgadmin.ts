import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const SETTINGS = `
import os
DATA_DIR = os.path.join(os.path.dirname(__file__), 'data')
UPGRADE_CHECK_ENABLED = False
MASTER_PASSWORD_REQUIRED = False
`;

const SERVER = `
import builtins, os, sys, sysconfig
# As its pgAdmin4.wsgi does it.
sys.path.insert(1, os.path.join(sysconfig.get_paths()['purelib'], 'pgadmin4'))
builtins.SERVER_MODE = True
os.environ.update(PGADMIN_SETUP_EMAIL='a@example.com', PGADMIN_SETUP_PASSWORD='secret-1')
from pgAdmin4 import app
from werkzeug.serving import run_simple
run_simple('127.0.0.1', int(sys.argv[1]), app, threaded=True)
`;

const CLIENT = `
import hashlib, json, re, sys
import requests

url, name = sys.argv[1:]
session = requests.Session()
page = session.get(url + '/')
print(page.status_code, [answer.headers['Location'] for answer in page.history], re.search('<title>(.*?)</title>', page.text).group(1))
for asset in sorted(set(re.findall(r'(?:src|href)="(/[^"]+)"', page.text))):
    answer = session.get(url + asset)
    print(asset, answer.status_code, answer.headers['Content-Type'], hashlib.sha256(answer.content).hexdigest()[:8])
token = re.search('csrfToken"?: ?"([^"]+)"', page.text.replace('&#34;', '"')).group(1)
for password in ['wrong', 'secret-1']:
    answer = session.post(url + '/authenticate/login', data={'csrf_token': token, 'email': 'a@example.com', 'password': password, 'language': 'en', 'internal_button': 'Login'}, headers={'Referer': url + '/login'}, allow_redirects=False)
    print(password, answer.status_code, answer.headers.get('Location'))
page = session.get(url + '/browser/')
print(page.status_code, re.search('<title>(.*?)</title>', page.text).group(1).strip(), sorted(session.cookies.keys()))
token = re.search(r"pgAdmin\\['csrf_token'\\] = '([^']+)'", session.get(url + '/browser/js/utils.js').text).group(1)
head = {'X-pgA-CSRFToken': token, 'Referer': url + '/browser/'}
made = session.post(url + '/browser/server_group/obj/', json={'name': 'Ä ' + name}, headers=head)
print(made.status_code, made.json().get('node', {}).get('label', '').replace(name, 'NAME'))
print('without the token', session.post(url + '/browser/server_group/obj/', json={'name': 'x'}).status_code)
print(session.get(url + '/logout', allow_redirects=False).status_code, session.get(url + '/browser/', allow_redirects=False).status_code)
`;

/** Its sign-in and its page, which keeps a session for the address that the client comes from. */
export const pgAdmin: Application = {
  name: 'pgAdmin 4 9.18',
  usedBy: 'requests, as its page does: sign-in, page, a group of servers, sign-out',
  pythonPackages: ['pgadmin4==9.18', 'requests==2.34.2'],
  async start(folder) {
    await writeFile(join(folder, 'config_local.py'), SETTINGS);
    await writeFile(join(folder, 'server.py'), SERVER);
    await writeFile(join(folder, 'client.py'), CLIENT);
    const port = await freePort();
    return startProgram(folder, port, 'venv/bin/python', 'server.py', `${port}`);
  },
  use: (url, folder, name) => run(folder, 'venv/bin/python', 'client.py', url, name),
};
