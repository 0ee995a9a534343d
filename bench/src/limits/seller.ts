import Fastify from 'fastify';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { serve } from './serve.js';

/**
 * The seller of every scenario. It answers at once, or after `SELLER_MS`, with about 200 bytes of JSON, or with as many
 * as a body asks for in `answer_bytes`.
 */
const app = Fastify();
const takesMs = Number(process.env.SELLER_MS ?? 0);
const answer = { ok: true, result: 'x'.repeat(200) };
/** Random letters, which compress as badly as real answers of that size. */
const noise = randomBytes(1_000_000).toString('base64');
app.post<{ Body: { answer_bytes?: number } | null }>('/*', async ({ body }) => {
  if (takesMs > 0) await delay(takesMs);
  return body?.answer_bytes ? { ok: true, result: noise.slice(0, body.answer_bytes) } : answer;
});
await serve(app);
