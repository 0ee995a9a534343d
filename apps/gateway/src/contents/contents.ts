import type { PayloadOf } from '@market/contracts';
import {
  contentTypesOf,
  executeCall,
  isStreamType,
  STREAMS_READ_MS,
  streamGrew,
  streamsRead,
  type OpenStream,
} from '@market/contracts/gateway';
import { HandleSignal, MessageBus, refuse } from '@market/messaging';
import { Database, FieldCipher, GroupCommit, sql, type Tx } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { gatewayConfig, type GatewayConfig } from '../config.js';
import type { CallableEndpoint } from '../endpoints/callable-endpoints.js';
import type { Chunk, ContentOwner } from './chunk-store.js';
import { ContentReceiver } from './content-receiver.js';
import { ObjectStore } from './object-store.js';
import type { StreamCall } from './stream-writer.js';

export type { ContentOwner } from './chunk-store.js';

/** Longer than any call may take. */
const UNCLAIMED_HOURS = 2;
const FULL_RETRY_SECONDS = 3_600;
const RENEW_INTERVAL_MS = 1_000;
/** Some signals may be lost. */
const ABANDONED_AFTER_MS = 4 * STREAMS_READ_MS;
/** A stream whose process says nothing for so long is cut. */
const OPEN = `now() + interval '4 seconds'`;

export const mayAnswerWithContent = (formats: readonly string[] | undefined): formats is readonly string[] =>
  formats !== undefined && contentTypesOf(formats).size > 0;

export const mayStream = (formats: readonly string[] = []): boolean => [...contentTypesOf(formats)].some(isStreamType);

const begin = sql(
  'contents.begin',
  `INSERT INTO contents (id, call_id, buyer_id, seller_id, size, lock_name, attempt, open_until, expires_at)
   VALUES ($1, $2, $3, $4, 0, $5, $6, CASE WHEN $7 THEN ${OPEN} END, now() + interval '${UNCLAIMED_HOURS} hours')
   ON CONFLICT (id) DO NOTHING`,
);
const renew = sql('contents.renew', `UPDATE contents SET open_until = ${OPEN} WHERE id = ANY($1::uuid[])`);
/** The latest open stream of a call that the same buyer asks for with the same body. */
const findOpen = sql(
  'contents.find-open',
  `SELECT c.call_id AS "callId", c.id AS "contentId", c.attempt FROM contents c JOIN gateway_requests g ON g.id = c.call_id
   WHERE c.lock_name = $1 AND c.open_until > now() AND c.buyer_id = $2 AND g.listing_id = $3 AND g.body_digest = $4
   ORDER BY c.attempt DESC LIMIT 1`,
);
/** A chunk that was stored before changes nothing. Without bytes, they are an object. */
const append = sql(
  'content-chunks.append',
  `WITH added AS (
     INSERT INTO content_chunks (content_id, starts_at, sealed) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1)
   UPDATE contents SET size = size + $4 WHERE id = $1 AND EXISTS (SELECT FROM added)`,
);
const readChunk = sql(
  'content-chunks.read',
  `SELECT starts_at::float8 AS "startsAt", sealed FROM content_chunks WHERE content_id = $1 AND starts_at <= $2
   ORDER BY starts_at DESC LIMIT 1`,
);
const findObjects = sql(
  'content-chunks.find-objects',
  `SELECT content_id AS "contentId", starts_at::float8 AS "startsAt" FROM content_chunks
   WHERE content_id = ANY($1::uuid[]) AND sealed IS NULL`,
);
const remove = sql(
  'contents.remove',
  `WITH removed AS (DELETE FROM contents WHERE id = ANY($1::uuid[]) RETURNING id, call_id)
   UPDATE gateway_requests g SET result_json = NULL FROM removed WHERE g.id = removed.call_id AND g.content_id = removed.id`,
);
/** Files that no result names, and files whose time is over. */
const findExpired = sql(
  'contents.find-expired',
  `SELECT c.id FROM contents c LEFT JOIN gateway_requests g ON g.id = c.call_id AND g.content_id = c.id
   WHERE c.expires_at < now() AND (g.id IS NULL OR g.settled_at IS NOT NULL OR NOT g.billable)
   ORDER BY c.expires_at LIMIT $1 FOR UPDATE OF c SKIP LOCKED`,
);
const sizes = sql(
  'contents.sizes',
  `SELECT (SELECT coalesce(sum(size), 0) FROM contents WHERE buyer_id = $1)::float8 AS buyer,
     (SELECT coalesce(sum(size), 0) FROM contents WHERE seller_id = $2)::float8 AS seller`,
);

/** The request for a call, as far as it decides whether its stream may be read. */
interface Asked {
  lockName: string;
  buyerId: string;
  listingId: string;
  bodyDigest: Buffer;
}

/**
 * The bytes of files and streams that calls were answered with, in encrypted chunks: in the database, or as objects of a
 * store that the operator has.
 */
@Injectable()
export class Contents implements OnApplicationBootstrap {
  /** The streams that this process reads from their sellers, and when they were last known to have readers. */
  private readonly open = new Map<string, { readAt: number; onAbandoned?: (() => void) | undefined }>();
  private readonly objects: ObjectStore | undefined;
  /** Few chunks are written at once, so that many of them take neither memory nor the connections of other calls. */
  private readonly chunks = new GroupCommit<Chunk, void>((chunks) => this.write(chunks), { maxSize: 4, lanes: 2 });

  constructor(
    private readonly database: Database,
    private readonly cipher: FieldCipher,
    private readonly bus: MessageBus,
    private readonly jobs: Jobs,
    @Inject(gatewayConfig.token) private readonly config: GatewayConfig,
  ) {
    this.objects = config.storeUrl === undefined ? undefined : new ObjectStore(config.storeUrl);
  }

  onApplicationBootstrap(): void {
    this.jobs.every('renew-open-streams', RENEW_INTERVAL_MS, () => this.renew());
  }

  /** Takes the answer of one attempt at a call of a listing with these `formats`. */
  receiver(
    owner: ContentOwner,
    formats: readonly string[],
    { endpoint }: Pick<CallableEndpoint, 'endpoint'>,
    call: Omit<StreamCall, 'idleTimeoutMs' | 'streamTimeoutMs'>,
  ): ContentReceiver {
    const { maxFileBytes, idleTimeoutMs, streamTimeoutMs } = endpoint;
    return new ContentReceiver(
      this,
      owner,
      formats,
      maxFileBytes,
      { ...call, idleTimeoutMs, streamTimeoutMs },
      (news) => this.bus.signal(streamGrew, news),
    );
  }

  /** Takes what a job is delivered as, if that is a file. */
  fileReceiver(
    owner: ContentOwner,
    types: readonly string[],
    target: Pick<CallableEndpoint, 'endpoint'>,
  ): ContentReceiver {
    const never = (): never => {
      throw new Error('a file is no stream');
    };
    return this.receiver(owner, types, target, { lockName: null, attempt: 1, collect: never, onOpen: never });
  }

  /** Stores the next chunk of a file or stream. The bytes must not change until it is stored. */
  append(chunk: Chunk): Promise<void> {
    const { contentId, stream } = chunk;
    if (stream?.isShown) this.open.set(contentId, { readAt: Date.now(), onAbandoned: stream.onAbandoned });
    return this.chunks.submit(chunk);
  }

  closed(contentId: string): void {
    this.open.delete(contentId);
  }

  @HandleSignal(streamsRead)
  hear({ contentIds }: PayloadOf<typeof streamsRead>): void {
    for (const id of contentIds) {
      const stream = this.open.get(id);
      if (stream) stream.readAt = Date.now();
    }
  }

  /** The stream that a call is being answered with; null if there is none that may be seen. */
  async findOpen({ lockName, buyerId, listingId, bodyDigest }: Asked): Promise<OpenStream | null> {
    const [row] = await this.database.query<Omit<OpenStream, 'text'>>(findOpen, [
      lockName,
      buyerId,
      listingId,
      bodyDigest,
    ]);
    return row ? { ...row, text: '' } : null;
  }

  /** The rest of the chunk at `offset`; empty behind the end. */
  async read(contentId: string, offset: number): Promise<Buffer> {
    type Stored = { startsAt: number; sealed: Buffer | null };
    const [chunk] = await this.database.query<Stored>(readChunk, [contentId, offset]);
    // An object that is not there yet is being written.
    const sealed = chunk && (chunk.sealed ?? (await this.objects?.get(keyOf({ contentId, ...chunk }))));
    if (!sealed) return Buffer.alloc(0);
    return this.cipher.decryptBytes(sealed, sealedFor(contentId, chunk.startsAt)).subarray(offset - chunk.startsAt);
  }

  async remove(contentId: string): Promise<void> {
    await this.delete(this.database, [contentId]);
  }

  /** Deletes contents whose time is over, with the results that name them. @returns how many. */
  async deleteExpired(limit: number): Promise<number> {
    return this.database.transaction(async (tx) => {
      const expired = await tx.query<{ id: string }>(findExpired, [limit]);
      await this.delete(
        tx,
        expired.map(({ id }) => id),
      );
      return expired.length;
    });
  }

  /** The rows are deleted after the objects that they name. */
  private async delete(from: Pick<Tx, 'query'>, ids: string[]): Promise<void> {
    if (this.objects) {
      const objects = await from.query<{ contentId: string; startsAt: number }>(findObjects, [ids]);
      await this.objects.delete(objects.map(keyOf));
    }
    await from.query(remove, [ids]);
  }

  /** @throws Refusal `storage_full`. Calls that are under way may still exceed the limit by their own files. */
  async assertRoom({ buyerId, sellerId }: Pick<ContentOwner, 'buyerId' | 'sellerId'>): Promise<void> {
    const [used] = await this.database.query<{ buyer: number; seller: number }>(sizes, [buyerId, sellerId]);
    const full = (['buyer', 'seller'] as const).find((party) => used![party] >= this.config.storedBytesPerAccount);
    if (full) throw refuse(executeCall, 'storage_full', { of: full, retry_after_seconds: FULL_RETRY_SECONDS });
  }

  /** Says that the streams of this process are still open, and ends those that nobody reads any more. */
  async renew(): Promise<void> {
    for (const { readAt, onAbandoned } of this.open.values())
      if (Date.now() - readAt > ABANDONED_AFTER_MS) onAbandoned?.();
    if (this.open.size > 0) await this.database.query(renew, [[...this.open.keys()]]);
  }

  private async write(chunks: Chunk[]): Promise<void[]> {
    const sealed = chunks.map(({ contentId, startsAt, bytes }) =>
      this.cipher.encrypt(bytes, sealedFor(contentId, startsAt)),
    );
    await this.database.transaction(async (tx) => {
      for (const [n, { contentId, startsAt, bytes, callId, buyerId, sellerId, stream }] of chunks.entries()) {
        const { lockName = null, attempt = null, isShown = false } = stream ?? {};
        if (startsAt === 0) tx.send(begin, [contentId, callId, buyerId, sellerId, lockName, attempt, isShown]);
        tx.send(append, [contentId, startsAt, this.objects ? null : sealed[n], bytes.length]);
      }
    });
    // The row comes first, so that no object is left that nothing names.
    if (this.objects) await Promise.all(chunks.map((chunk, n) => this.objects!.put(keyOf(chunk), sealed[n]!)));
    return chunks.map(() => undefined);
  }
}

const keyOf = ({ contentId, startsAt }: Pick<Chunk, 'contentId' | 'startsAt'>): string => `${contentId}/${startsAt}`;

const sealedFor = (contentId: string, startsAt: number): string => `content_chunks|sealed|${contentId}|${startsAt}`;
