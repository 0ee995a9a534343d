import { createHmac, randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';
import { Pool } from 'undici';
import { serve } from './serve.js';

/**
 * The upper limit that the parts set: Fastify, pg and undici without any code of the marketplace.
 * POST /relay: sign, call the seller, one transaction with one insert. POST /insert: one insert.
 * GET /search: one prepared search of 20 listings. GET /me: one prepared look-up.
 */
const database = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 24 });
database.on('error', () => undefined);
await database.query('CREATE SCHEMA IF NOT EXISTS bench');
await database.query(
  `CREATE TABLE IF NOT EXISTS bench.calls
     (id uuid PRIMARY KEY, body text NOT NULL, result text NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
);
const seller = new Pool(process.env.SELLER_URL!, { connections: 32 });
const app = Fastify();

const insert = { name: 'insert', text: 'INSERT INTO bench.calls (id, body, result) VALUES ($1, $2, $3)' };
const search = {
  name: 'search',
  text: `SELECT l.id, l.slug, l.name, l.description, l.price_micros, l.created_at, p.display_name, c.name AS category
         FROM catalog.listings l
         JOIN catalog.providers p ON p.id = l.provider_id
         LEFT JOIN catalog.categories c ON c.id = l.category_id
         WHERE l.status = 'active' AND l.search @@ websearch_to_tsquery('pg_catalog.english', $1)
         ORDER BY l.created_at DESC, l.id DESC LIMIT 20`,
};
const me = { name: 'me', text: 'SELECT * FROM identity.accounts WHERE id = $1' };

app.post('/relay', async (request, reply) => {
  const body = JSON.stringify(request.body);
  const id = randomUUID();
  const signature = createHmac('sha256', 'bench').update(`${id}.${body}`).digest('base64');
  const answer = await seller.request({
    method: 'POST',
    path: '/call',
    headers: { 'content-type': 'application/json', 'x-signature': signature },
    body,
  });
  const result = await answer.body.text();
  const client = await database.connect();
  try {
    await client.query('BEGIN');
    await client.query({ ...insert, values: [id, body, result] });
    await client.query('COMMIT');
  } finally {
    client.release();
  }
  return reply.type('application/json').send(result);
});
app.post('/insert', async (request) => {
  const id = randomUUID();
  await database.query({ ...insert, values: [id, JSON.stringify(request.body), ''] });
  return { id };
});
app.get<{ Querystring: { q: string } }>('/search', async (request) => ({
  data: (await database.query({ ...search, values: [request.query.q] })).rows,
}));
app.get<{ Querystring: { id: string } }>('/me', async (request) => ({
  data: (await database.query({ ...me, values: [request.query.id] })).rows[0],
}));

await serve(app);
