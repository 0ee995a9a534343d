import { z } from 'zod';
import { DIMENSIONS } from './embeddings-schema.js';

/** The server of embeddings gave none. */
export class NoEmbeddings extends Error {
  /** @param isRefused whether it does not want this text, so that the same request would fail again. */
  constructor(
    readonly isRefused: boolean,
    reason: string,
  ) {
    super(`the server of CATALOG_EMBEDDINGS_URL ${reason}`);
  }
}

const answer = z.object({
  data: z
    .array(z.object({ index: z.int().nonnegative(), embedding: z.array(z.number()).min(1).max(DIMENSIONS) }))
    .transform((data) => data.sort((a, b) => a.index - b.index)),
});

/** Refusals of the request, not of its text. */
const TEMPORARY = new Set([401, 403, 404, 408, 425, 429]);

/** `POST /embeddings` as OpenAI specifies it (https://platform.openai.com/docs/api-reference/embeddings/create). */
export class EmbeddingsApi {
  constructor(private readonly settings: { url: string; model: string; apiKey: string | undefined }) {}

  /**
   * Returns the vector of each text as a literal of pgvector, in the order of the texts.
   * @throws NoEmbeddings
   */
  async embed(texts: string[], timeoutMs: number): Promise<string[]> {
    const { url, model, apiKey } = this.settings;
    const response = await fetch(`${url}/embeddings`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => {
      throw new NoEmbeddings(false, 'does not answer');
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok) {
      const isRefused = response.status < 500 && !TEMPORARY.has(response.status);
      throw new NoEmbeddings(isRefused, `answers ${response.status}`);
    }
    const { success, data } = answer.safeParse(body);
    if (!success || data.data.length !== texts.length)
      throw new NoEmbeddings(false, `answers without one embedding of at most ${DIMENSIONS} dimensions for each text`);
    return data.data.map(({ embedding }) => literalOf(embedding));
  }
}

const literalOf = (embedding: number[]): string =>
  `[${[...embedding, ...Array<number>(DIMENSIONS - embedding.length).fill(0)].join(',')}]`;
