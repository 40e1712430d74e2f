import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const CLIENT = `
import hashlib, sys
import requests
from webdav4.client import Client
from xml.etree import ElementTree

url, name = sys.argv[1:]
client = Client(url)
client.mkdir(name)
def relative(path):
    return path.replace(name, 'NAME')
long = hashlib.sha256(b'seed').digest() * 200_000
with open('long-' + name, 'wb') as out:
    out.write(long)
client.upload_file('long-' + name, name + '/long')
client.download_file(name + '/long', 'back-' + name)
print('long', open('back-' + name, 'rb').read() == long)
# webdav4 sends a "%" without escaping it, which is no URL (RFC 3986, 2.4) and 400 through Weir.
for file in ['plain', 'with space', 'ä', 'a;b&c=d+e', "'()*!~@:$,"]:
    try:
        client.upload_fileobj(open('client.py', 'rb'), name + '/' + file)
        client.copy(name + '/' + file, name + '/copy of ' + file)
        client.move(name + '/copy of ' + file, name + '/moved ' + file)
        print(file, client.exists(name + '/' + file), client.info(name + '/moved ' + file)['content_length'] > 0)
    except Exception as error:
        print(file, type(error).__name__, relative(str(error)))
print(sorted(relative(found) for found in client.ls(name, detail=False)))
lock = '<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>'
at = url + '/' + name + '/plain'
locked = requests.request('LOCK', at, data=lock, headers={'Timeout': 'Second-100', 'Content-Type': 'application/xml'})
token = locked.headers['Lock-Token']
print('LOCK', locked.status_code, requests.put(at, data='x').status_code, requests.put(at, data='x', headers={'If': '(' + token + ')'}).status_code)
print('UNLOCK', requests.request('UNLOCK', at, headers={'Lock-Token': token}).status_code)
patch = '<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x"><D:set><D:prop><x:y>ä</x:y></D:prop></D:set></D:propertyupdate>'
print('PROPPATCH', requests.request('PROPPATCH', at, data=patch.encode()).status_code)
found = requests.request('PROPFIND', url + '/' + name, headers={'Depth': 'infinity'})
print('PROPFIND', found.status_code, sorted(relative(href.text) for href in ElementTree.fromstring(found.content).iter('{DAV:}href')))
print('OPTIONS', sorted((k, v) for k, v in requests.options(at).headers.items() if k in ('Allow', 'DAV', 'MS-Author-Via')))
print('no overwriting', requests.request('MOVE', at, headers={'Destination': url + '/' + name + '/long', 'Overwrite': 'F'}).status_code)
print('elsewhere', requests.request('COPY', at, headers={'Destination': 'http://elsewhere.example/x'}).status_code)
print('range', requests.get(url + '/' + name + '/long', headers={'Range': 'bytes=7-11'}).headers['Content-Range'])
page = requests.get(url + '/' + name)
print(page.status_code, page.headers['Content-Type'], page.url.replace(name, 'NAME'))
client.remove(name)
print(client.exists(name))
`;

/** A server of WebDAV: the methods of files, with the URLs of other files in their fields. */
export const wsgiDav: Application = {
  name: 'WsgiDAV 4.4 (Cheroot 11.1)',
  usedBy: 'webdav4 0.11 and requests: files of 6 MiB, copies, moves, locks, properties',
  pythonPackages: ['wsgidav==4.4.0', 'cheroot==11.1.2', 'webdav4==0.11.0', 'requests==2.34.2'],
  route: { semicolons: 'pass' },
  nginx: ['the file of 6 MiB is refused: 413', /413/],
  async start(folder) {
    await writeFile(join(folder, 'client.py'), CLIENT);
    await mkdir(join(folder, 'files'));
    const port = await freePort();
    const options = ['--host=127.0.0.1', `--port=${port}`, '--root=files', '--auth=anonymous', '--no-config'];
    return startProgram(folder, port, 'venv/bin/wsgidav', ...options);
  },
  use: (url, folder, name) => run(folder, 'venv/bin/python', 'client.py', url, name),
};
