import type { StoredContent } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { createHash } from 'node:crypto';
import type { ChunkStore, ContentOwner } from './chunk-store.js';

/** A file is stored in chunks of this size, and read in pieces that are no larger. */
const CHUNK_BYTES = 131_072;

/** Stores a file, a chunk at a time, while it arrives. */
export class FileWriter {
  private readonly id = newId();
  private readonly hash = createHash('sha256');
  private size = 0;
  private buffer: Buffer | undefined;
  private filled = 0;
  private storedBytes = 0;
  private storing: Promise<void> | undefined;
  private isOver = false;

  constructor(
    private readonly store: ChunkStore,
    private readonly owner: ContentOwner,
    private readonly contentType: string,
  ) {}

  write(piece: Buffer): Promise<void> | undefined {
    this.hash.update(piece);
    this.size += piece.length;
    const rest = this.fill(piece);
    return this.filled === CHUNK_BYTES ? this.storeFilled(rest) : undefined;
  }

  async end(): Promise<StoredContent> {
    if (this.filled > 0) await this.storeFilled(Buffer.alloc(0));
    return { id: this.id, contentType: this.contentType, size: this.size, sha256: this.hash.digest('hex') };
  }

  /** Removes what was stored, if anything was. */
  async discard(): Promise<void> {
    this.isOver = true;
    await this.storing?.catch(() => undefined);
    if (this.storing) await this.store.remove(this.id);
  }

  /** @returns what does not fit into the chunk. */
  private fill(piece: Buffer): Buffer {
    this.buffer ??= Buffer.allocUnsafe(CHUNK_BYTES);
    const copied = piece.copy(this.buffer, this.filled);
    this.filled += copied;
    return piece.subarray(copied);
  }

  private storeFilled(rest: Buffer): Promise<void> {
    this.storing = this.storeThen(rest);
    return this.storing;
  }

  private async storeThen(rest: Buffer): Promise<void> {
    do {
      const bytes = this.buffer!.subarray(0, this.filled);
      await this.store.append({ ...this.owner, contentId: this.id, startsAt: this.storedBytes, bytes });
      this.storedBytes += bytes.length;
      this.filled = 0;
      rest = this.fill(rest);
    } while (this.filled === CHUNK_BYTES && !this.isOver);
  }
}
