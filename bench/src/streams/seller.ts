import Fastify from 'fastify';
import { serve } from '../limits/serve.js';

interface Asked {
  per_second?: number;
  seconds?: number;
}

const now = (): number => performance.timeOrigin + performance.now();

/** A seller that streams. A call says how many events a second, and for how long; each event says when it was sent. */
const app = Fastify();
app.post<{ Body: Asked | null }>('/*', (request, reply) => {
  const { per_second: perSecond = 1, seconds = 1 } = request.body ?? {};
  const [all, startedAt] = [perSecond * seconds, performance.now()];
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  const send = (): void => {
    const due = Math.min(all, ((performance.now() - startedAt) / 1_000) * perSecond);
    for (; sent < due; sent += 1)
      reply.raw.write(`data: {"sent_at":${now()},"text":"a token of forty characters or about that"}\n\n`);
    if (sent < all) setTimeout(send, 1_000 / perSecond);
    else reply.raw.end();
  };
  // The streams of one moment do not send in step.
  setTimeout(send, Math.random() * (1_000 / perSecond));
});
await serve(app);
