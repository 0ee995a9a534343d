/** `node pgvector.mjs <port> <schema>`: see src/pgvector.ts. */
import { PGlite } from '@electric-sql/pglite';
import { btree_gin } from '@electric-sql/pglite/contrib/btree_gin';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { vector } from '@electric-sql/pglite-pgvector';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';

const db = await PGlite.create({ extensions: { btree_gin, pg_trgm, vector } });
const [port, schema] = process.argv.slice(2);
await db.exec(`SET search_path TO ${schema}, public`);
await new PGLiteSocketServer({ db, port: Number(port), host: '127.0.0.1', maxConnections: 50 }).start();
console.log('ready');
