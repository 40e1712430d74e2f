import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { type Application, run, startProgram } from '../application.ts';

const CLIENT = `
import sys
from datetime import datetime
from caldav import DAVClient, error

url, name = sys.argv[1:]
client = DAVClient(url=url + '/', username=name, password='any')
principal = client.principal()
print(str(principal.url).replace(name, 'NAME'))
calendar = principal.make_calendar(name='Ä & <b>', cal_id='cal-1')
print(str(calendar.url).replace(name, 'NAME'), calendar.get_display_name())
for uid in ['plain', 'with space', 'a@b.example', 'a/b', 'ä', 'a%2Fb', 'a;b', '100%']:
    try:
        calendar.save_event(uid=uid, dtstart=datetime(2026, 1, 1, 10), dtend=datetime(2026, 1, 1, 11), summary='of ' + uid, description='x' * 50_000)
        print(uid, calendar.event_by_uid(uid).icalendar_component['SUMMARY'])
    except Exception as problem:
        print(uid, type(problem).__name__, str(problem).splitlines()[:1])
found = calendar.search(start=datetime(2026, 1, 1), end=datetime(2026, 1, 2), event=True, expand=False)
print(sorted((str(event.url).replace(name, 'NAME'), str(event.icalendar_component['UID'])) for event in found))
todo = calendar.save_todo(summary='to do', uid='todo')
todo.complete()
print([str(each.icalendar_component['STATUS']) for each in calendar.todos(include_completed=True)])
event = calendar.event_by_uid('plain')
event.icalendar_component['SUMMARY'] = 'changed'
event.save()
print(calendar.event_by_uid('plain').icalendar_component['SUMMARY'])
event.delete()
try:
    calendar.event_by_uid('plain')
except error.NotFoundError:
    print('deleted')
for method, path, body, head in [
    ('PROPFIND', '/', '', {'Depth': '0'}),
    ('OPTIONS', '/' + name + '/', '', {}),
    ('GET', '/.well-known/caldav', '', {}),
    ('GET', '/.web/', '', {}),
    ('MOVE', '/' + name + '/cal-1/todo.ics', '', {'Destination': url + '/' + name + '/cal-1/moved.ics'}),
    ('PUT', '/' + name + '/cal-1/b.ics', 'no calendar', {'Content-Type': 'text/calendar'}),
]:
    answer = client.session.request(method, url + path, data=body, headers=head, auth=(name, 'any'), allow_redirects=False)
    print(method, path.replace(name, 'NAME'), answer.status_code, sorted((k, v) for k, v in answer.headers.items() if k in ('DAV', 'Allow', 'Location')))
calendar.delete()
print([str(each.url) for each in principal.calendars()])
`;

/** CalDAV: methods of WebDAV with bodies of XML. */
export const radicale: Application = {
  name: 'Radicale 3.9',
  usedBy: 'caldav 3.6: calendars, events and to-dos, with searches',
  pythonPackages: ['radicale==3.9.0', 'caldav==3.6.0'],
  route: { semicolons: 'pass' },
  async start(folder) {
    await writeFile(join(folder, 'client.py'), CLIENT);
    const port = await freePort();
    const options = [
      `--server-hosts=127.0.0.1:${port}`,
      '--storage-filesystem-folder=collections',
      '--auth-type=none',
    ];
    return startProgram(folder, port, 'venv/bin/radicale', '--config=', ...options);
  },
  use: (url, folder, name) => run(folder, 'venv/bin/python', 'client.py', url, name),
};
