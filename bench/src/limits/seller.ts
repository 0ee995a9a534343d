import Fastify from 'fastify';

/** The seller of every scenario: answers at once with some 200 bytes of JSON. */
const app = Fastify();
const answer = { ok: true, result: 'x'.repeat(200) };
app.post('/*', async () => answer);
await app.listen({ port: 0, host: '127.0.0.1' });
console.log(`http://127.0.0.1:${(app.server.address() as { port: number }).port}`);
