export { KeycloakAdmin, type Representation } from './admin.ts';
export { provideKeycloak } from './distribution.ts';
export { demoRealm } from './realm.ts';
export { ADMINISTRATOR, type Keycloak, startKeycloak } from './server.ts';
