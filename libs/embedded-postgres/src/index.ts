export { startPostgres, type EmbeddedPostgres, type StartPostgresOptions } from './start-postgres.js';
