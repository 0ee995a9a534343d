import Fastify from 'fastify';
import { serve } from './serve.js';

/** The seller of every scenario. It answers at once with about 200 bytes of JSON. */
const app = Fastify();
const answer = { ok: true, result: 'x'.repeat(200) };
app.post('/*', async () => answer);
await serve(app);
