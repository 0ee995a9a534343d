export { startPostgres, type EmbeddedPostgres, type StartPostgresOptions } from './start-postgres.js';
export { inspectProcess, waitUntilGone, type ProcessInfo } from './process-info.js';
export { usePostgres } from './use-postgres.js';
