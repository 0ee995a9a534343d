import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { catalogConfig, type CatalogConfig } from '../../config.js';
import { EmbeddingsApi, NoEmbeddings } from './embeddings-api.js';

const INTERVAL_MS = 1_000;
const BATCH_SIZE = 32;
/** Longer texts than models read are cut by some servers and refused by others. */
const CHARACTERS_READ = 1_500;
const BATCH_TIMEOUT_MS = 30_000;
/** A search waits no longer for what is only an addition to its words. */
const SEARCH_TIMEOUT_MS = 700;
/** After a failure the server is not asked for a while, and searches go by words alone. */
const REST_MS = 5_000;

const isThere = sql('listing-embeddings.exists', `SELECT to_regclass('listing_embeddings') IS NOT NULL AS "isThere"`);
// What is taken is another process's work for a minute, or nobody's if that process ended.
const takeDue = sql(
  'listing-embeddings.take-due',
  `WITH due AS (
     SELECT listing_id FROM listing_embeddings WHERE (model < $1 OR model > $1) AND taken_until < now()
     LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED
   ), taken AS (
     UPDATE listing_embeddings e SET taken_until = now() + interval '1 minute' FROM due
     WHERE e.listing_id = due.listing_id RETURNING e.listing_id, e.version
   )
   SELECT l.id, taken.version,
     left(concat_ws(' ', l.name || '.', l.description, array_to_string(l.tags, ', '), l.docs), ${CHARACTERS_READ}) AS text
   FROM taken JOIN listings l ON l.id = taken.listing_id`,
);
const keep = sql(
  'listing-embeddings.keep',
  `UPDATE listing_embeddings e SET model = $1, embedding = made.embedding::halfvec, taken_until = '-infinity'
   FROM unnest($2::uuid[], $3::int[], $4::text[]) AS made (id, version, embedding)
   WHERE e.listing_id = made.id AND e.version = made.version`,
);
const release = sql(
  'listing-embeddings.release',
  `UPDATE listing_embeddings SET taken_until = '-infinity' WHERE listing_id = ANY($1)`,
);

interface Due {
  id: string;
  version: number;
  text: string;
}

/** What texts mean, as vectors. It needs a server of embeddings, and pgvector in the database; without them it is off. */
@Injectable()
export class Meaning implements OnModuleInit {
  private readonly logger = new Logger('Meaning');
  private readonly api: EmbeddingsApi | undefined;
  private readonly known = new LRUCache<string, string>({ max: 500 });
  private isOn = false;
  private isAway = false;
  private restsUntil = 0;

  constructor(
    private readonly database: Database,
    private readonly jobs: Jobs,
    @Inject(catalogConfig.token) private readonly config: CatalogConfig,
  ) {
    const { embeddingsUrl: url, embeddingsModel: model, embeddingsApiKey: apiKey } = config;
    if (url !== undefined) this.api = new EmbeddingsApi({ url, model, apiKey });
  }

  onModuleInit(): void {
    if (!this.api) return;
    this.jobs.beforeReady(async () => {
      this.isOn = (await this.database.query<{ isThere: boolean }>(isThere))[0]!.isThere;
      if (!this.isOn)
        this.logger.warn(
          'listings are found by their words alone, although CATALOG_EMBEDDINGS_URL is set: ' +
            'install pgvector 0.8 or later in PostgreSQL, then run `market-admin migrate`',
        );
    });
    this.jobs.every('embed listings', INTERVAL_MS, () => this.run());
  }

  get model(): string {
    return this.config.embeddingsModel;
  }

  /** Returns what a text means, or null if that is not known in time. */
  async of(text: string): Promise<string | null> {
    if (!this.isAsked) return null;
    const known = this.known.get(text);
    if (known !== undefined) return known;
    try {
      const [vector] = await this.vectorsOf([text], SEARCH_TIMEOUT_MS);
      this.known.set(text, vector!);
      return vector!;
    } catch (error) {
      if (!(error instanceof NoEmbeddings)) throw error;
      return null;
    }
  }

  /** Embeds the listings that are due. */
  async run(): Promise<void> {
    while (this.isAsked) {
      const due = await this.database.query<Due>(takeDue, [this.model]);
      if (due.length === 0) return;
      await this.embed(due);
    }
  }

  private get isAsked(): boolean {
    return this.isOn && Date.now() >= this.restsUntil;
  }

  private async embed(due: Due[]): Promise<void> {
    try {
      const vectors = await this.vectorsOf(
        due.map(({ text }) => text),
        BATCH_TIMEOUT_MS,
      );
      await this.keep(due, vectors);
    } catch (error) {
      if (!(error instanceof NoEmbeddings)) throw error;
      if (!error.isRefused) return void (await this.database.query(release, [due.map(({ id }) => id)]));
      // One text may spoil its batch. A listing whose text is refused alone is found by its words.
      if (due.length === 1) return this.keep(due, [null]);
      for (const each of due) if (this.isAsked) await this.embed([each]);
    }
  }

  private async keep(due: Due[], vectors: (string | null)[]): Promise<void> {
    await this.database.query(keep, [this.model, due.map(({ id }) => id), due.map(({ version }) => version), vectors]);
  }

  /** Asks the server, and says when it fails and when it works again. */
  private async vectorsOf(texts: string[], timeoutMs: number): Promise<string[]> {
    const askedAt = Date.now();
    try {
      const vectors = await this.api!.embed(texts, timeoutMs);
      // A batch may take longer than a search can wait.
      if (this.isAway && Date.now() - askedAt < SEARCH_TIMEOUT_MS) {
        this.isAway = false;
        this.logger.log('the server of CATALOG_EMBEDDINGS_URL answers; searches go by meaning again');
      }
      return vectors;
    } catch (error) {
      // The server may refuse one text and answer the next.
      if (error instanceof NoEmbeddings && !error.isRefused) {
        if (!this.isAway) this.logger.warn(`${error.message}; meanwhile searches go by words alone`);
        this.isAway = true;
        this.restsUntil = Date.now() + REST_MS;
      }
      throw error;
    }
  }
}
