/** A user of the demo provider. */
export interface Person {
  readonly username: string;
  readonly password: string;
  /** `sub` of the user's tokens; opaque, as in Keycloak. */
  readonly subject: string;
  readonly name: string;
  readonly email: string;
}

/** The demo's users. Their passwords are in its documentation and protect nothing. */
export const PEOPLE: readonly Person[] = [
  {
    username: 'alice',
    password: 'wonderland',
    subject: '5d1f0c9e-7a52-4c1c-9d52-6f1f6a1c0a11',
    name: 'Alice Liddell',
    email: 'alice@example.com',
  },
  {
    username: 'bob',
    password: 'builder',
    subject: 'b2f4a7d3-03c8-4e7f-8f0e-2c9b7d54be22',
    name: 'Bob Stone',
    email: 'bob@example.com',
  },
];

export function personBySubject(subject: string): Person | undefined {
  return PEOPLE.find(person => person.subject === subject);
}

export function personByPassword(username: string, password: string): Person | undefined {
  return PEOPLE.find(person => person.username === username && person.password === password);
}
