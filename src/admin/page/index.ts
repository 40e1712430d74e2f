export { PAGE_POLICY, statusAsPage } from './status-page.ts';
