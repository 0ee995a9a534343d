import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

interface EmbeddingsRequest {
  model: string;
  input: string[];
}

export interface EmbeddingsServer {
  readonly url: string;
  /** The requests that it answered. */
  readonly asked: EmbeddingsRequest[];
  /** The status of its answer to a request; 200 by default. */
  statusOf: (request: EmbeddingsRequest) => number;
  stop(): Promise<void>;
}

/**
 * A server of embeddings whose model knows a few meanings: each is a dimension, and texts that have its words in any
 * language are near to each other.
 */
export async function startEmbeddingsServer(meanings: readonly (readonly string[])[]): Promise<EmbeddingsServer> {
  const embed = (text: string): number[] => {
    const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
    return [...meanings.map((meaning) => words.filter((word) => meaning.includes(word)).length), 0.1];
  };
  const server = createServer(async (request, response) => {
    const asked = (await json(request)) as EmbeddingsRequest;
    const status = request.url === '/v1/embeddings' && request.method === 'POST' ? running.statusOf(asked) : 404;
    if (status === 200) running.asked.push(asked);
    const data = asked.input.map((text, index) => ({ object: 'embedding', index, embedding: embed(text) }));
    response.writeHead(status, { 'content-type': 'application/json' });
    // The order says nothing; the index does.
    response.end(JSON.stringify(status === 200 ? { object: 'list', data: data.reverse() } : { error: {} }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const running: EmbeddingsServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: [],
    statusOf: () => 200,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return running;
}
