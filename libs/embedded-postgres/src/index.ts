export { backUpCluster } from './base-backup.js';
export { placeCluster } from './cluster.js';
export { keepPostgres, startPostgres, usePostgres } from './embedded-postgres.js';
export { inspectProcess, waitUntilGone } from './process-info.js';
export type { EmbeddedPostgres } from './server.js';
