import type { FastifyInstance } from 'fastify';

/** Listens on a free port, prints its URL as the first line, and ends with the process that started it. */
export async function serve(app: FastifyInstance): Promise<void> {
  process.stdin.resume().once('end', () => process.exit(0));
  console.log(await app.listen({ port: 0, host: '127.0.0.1' }));
}
