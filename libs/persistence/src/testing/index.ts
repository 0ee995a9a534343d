export * from './fresh-database.js';
export * from './with-client.js';
