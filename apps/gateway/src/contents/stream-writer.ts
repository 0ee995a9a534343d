import type { OpenStream, StoredContent, streamGrew } from '@market/contracts/gateway';
import type { PayloadOf } from '@market/contracts';
import { newId, UnavailableError } from '@market/kernel';
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { BrokenStream } from '../egress/answer-receiver.js';
import type { ChunkStore, ContentOwner } from './chunk-store.js';
import { StreamText } from './stream-text.js';

/** What has come is stored after this time at the latest, or when there is so much of it. */
const STORE_AFTER_MS = 200;
const STORE_BYTES = 65_536;
/** The seller waits if more than this is not stored yet. */
const MAX_UNSTORED_BYTES = 1_048_576;
/** A database that is away for so long ends no stream. */
const STORE_FOR_MS = 10_000;
const STORE_AGAIN_MS = 200;

/** A stream as its call sees it. */
export interface StreamCall {
  /** The name of the lock of the call; null if the call has none. */
  lockName: string | null;
  attempt: number;
  idleTimeoutMs: number;
  streamTimeoutMs: number;
  /** Runs when the first event has come, before anybody sees it. @returns false if nobody may see it. */
  collect(): Promise<boolean>;
  /** Runs when the stream has no readers any more. */
  onAbandoned?: (() => void) | undefined;
  /** Runs when the beginning is stored. */
  onOpen(stream: OpenStream): void;
}

/**
 * Stores a stream while it arrives, and tells its readers what has come. The seller is read at its own pace, whatever the
 * readers do: what they miss, they read from what is stored.
 */
export class StreamWriter {
  private readonly id = newId();
  private readonly text: StreamText;
  private readonly hash = createHash('sha256');
  private size = 0;
  private unstored = '';
  private unstoredBytes = 0;
  private storedBytes = 0;
  private storing: Promise<void> = Promise.resolve();
  private storeSoon: NodeJS.Timeout | undefined;
  /** What has come until the readers are told of the stream; null afterwards. */
  private beginning: string | null = '';
  private opening: Promise<void> | undefined;
  private isOver = false;
  private stopped: Promise<StoredContent> | undefined;
  firstEventAt = 0;
  /** Whether readers may have seen events of it. */
  isShown = false;
  private lastAt = 0;

  constructor(
    private readonly store: ChunkStore,
    private readonly owner: ContentOwner,
    readonly contentType: string,
    private readonly call: StreamCall,
    private readonly tell: (news: PayloadOf<typeof streamGrew>) => void,
  ) {
    this.text = new StreamText(contentType);
  }

  get events(): number {
    return this.text.events;
  }

  get units(): number | undefined {
    return this.text.units;
  }

  /** Whether the first event has come, once that is stored and paid for. */
  async hasOpened(): Promise<boolean> {
    await this.opening;
    return this.opening !== undefined;
  }

  /** @returns when the next piece may come, if that is not at once. @throws BrokenStream */
  write(piece: Buffer): Promise<void> | undefined {
    this.add(this.text.write(piece));
    this.failIfFaulty();
    if (this.events === 0 && this.unstoredBytes > MAX_UNSTORED_BYTES)
      throw new BrokenStream('the stream has comments and no event');
    if (this.events === 0) return undefined;
    if (!this.opening) return this.begin();
    return this.unstoredBytes > MAX_UNSTORED_BYTES ? this.storeNow() : undefined;
  }

  /** @throws BrokenStream if no event has come. */
  async end(): Promise<StoredContent> {
    this.add(this.text.end());
    this.failIfFaulty();
    if (this.events === 0) throw new BrokenStream('the stream has no event');
    if (!this.opening) await this.begin();
    return this.stop();
  }

  /** @throws BrokenStream, behind whose events there is a fault. */
  private failIfFaulty(): void {
    if (this.text.fault === undefined) return;
    if (this.events > 0 && !this.opening) void this.begin();
    throw this.text.fault as Error;
  }

  /** Stores what has come of a stream that is open, and takes no more. */
  stop(): Promise<StoredContent> {
    return (this.stopped ??= this.stopOnce());
  }

  private async stopOnce(): Promise<StoredContent> {
    this.isOver = true;
    await this.opening;
    await this.storeNow();
    const { id, contentType, size, call } = this;
    return { id, contentType, size, sha256: this.hash.digest('hex'), attempt: call.attempt };
  }

  /** Removes what was stored, if anything was. */
  async discard(): Promise<void> {
    this.isOver = true;
    clearTimeout(this.storeSoon);
    await this.opening?.catch(() => undefined);
    await this.storing.catch(() => undefined);
    if (this.opening) await this.store.remove(this.id);
  }

  /** Tells the readers that nothing more comes; what became of the call is stored. */
  close(): void {
    this.store.closed?.(this.id);
    if (this.isShown) this.tell({ contentId: this.id, offset: this.size, text: '', isOver: true });
  }

  timeLeftMs(): number | undefined {
    if (this.events === 0) return undefined;
    const endsAt = this.firstEventAt + this.call.streamTimeoutMs;
    return Math.max(0, Math.min(this.lastAt + this.call.idleTimeoutMs, endsAt) - Date.now());
  }

  private add(text: string): void {
    if (text === '' || this.isOver) return;
    const offset = this.size;
    const bytes = Buffer.byteLength(text);
    this.hash.update(text);
    this.size += bytes;
    this.unstored += text;
    this.unstoredBytes += bytes;
    this.lastAt = Date.now();
    if (this.beginning !== null) this.beginning += text;
    if (this.isShown) this.tell({ contentId: this.id, offset, text });
    if (this.beginning === null) this.storeLater();
  }

  private begin(): Promise<void> {
    this.firstEventAt = Date.now();
    this.opening = this.open();
    return this.opening;
  }

  private async open(): Promise<void> {
    const { callId } = this.owner;
    const isShown = await this.call.collect();
    await this.storeNow(isShown);
    const text = this.beginning!;
    this.beginning = null;
    this.lastAt = Date.now();
    this.storeLater();
    if (!isShown) return;
    this.isShown = true;
    this.call.onOpen({ callId, contentId: this.id, attempt: this.call.attempt, text });
  }

  private storeLater(): void {
    const store = (): void => void this.storeNow().catch(() => undefined);
    if (this.unstoredBytes >= STORE_BYTES) store();
    else if (this.unstoredBytes > 0) this.storeSoon ??= setTimeout(store, STORE_AFTER_MS);
  }

  /** Once storing has failed, it fails for good, and with it the call. */
  private storeNow(isShown?: boolean): Promise<void> {
    clearTimeout(this.storeSoon);
    this.storeSoon = undefined;
    this.storing = this.storing.then(() => this.storeUnstored(isShown));
    return this.storing;
  }

  private async storeUnstored(isShown = false): Promise<void> {
    if (this.unstored === '') return;
    const bytes = Buffer.from(this.unstored);
    const startsAt = this.storedBytes;
    this.unstored = '';
    this.unstoredBytes = 0;
    this.storedBytes += bytes.length;
    const { lockName, attempt, onAbandoned } = this.call;
    const stream = { lockName, attempt, isShown, onAbandoned };
    const chunk = { ...this.owner, contentId: this.id, startsAt, bytes, ...(startsAt === 0 ? { stream } : {}) };
    for (const until = Date.now() + STORE_FOR_MS; ;) {
      try {
        return await this.store.append(chunk);
      } catch (error) {
        if (!(error instanceof UnavailableError) || Date.now() >= until) throw error;
        await delay(STORE_AGAIN_MS);
      }
    }
  }
}
