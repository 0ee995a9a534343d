import Fastify from 'fastify';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { serve } from '../limits/serve.js';

const PIECE = randomBytes(65_536);

/** A seller that answers with a file of as many MiB as it is asked for. */
const app = Fastify();
app.post<{ Body: { mib?: number } | null }>('/*', (request, reply) => {
  const pieces = 16 * (request.body?.mib ?? 1);
  void reply
    .header('content-length', pieces * PIECE.length)
    .type('application/octet-stream')
    .send(Readable.from(Array<Buffer>(pieces).fill(PIECE), { objectMode: false }));
});
await serve(app);
