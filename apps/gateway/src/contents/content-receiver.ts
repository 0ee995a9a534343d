import {
  contentTypesOf,
  isStreamType,
  mediaTypeOf,
  type StoredContent,
  type streamGrew,
} from '@market/contracts/gateway';
import type { PayloadOf } from '@market/contracts';
import type { AnswerReceiver } from '../egress/answer-receiver.js';
import type { ChunkStore, ContentOwner } from './chunk-store.js';
import { FileWriter } from './file-writer.js';
import { StreamWriter, type StreamCall } from './stream-writer.js';

const MAX_TYPE_LENGTH = 200;
const PRINTABLE = /^[\x20-\x7e]+$/;

/**
 * Stores the answer of one attempt at a call if it is a file or a stream of a type that the listing names. What is stored
 * belongs to no call until the result of the call names it.
 */
export class ContentReceiver implements AnswerReceiver {
  private writer: FileWriter | StreamWriter | undefined;
  private readonly types: ReadonlySet<string>;

  constructor(
    private readonly store: ChunkStore,
    private readonly owner: ContentOwner,
    formats: readonly string[],
    readonly maxBytes: number,
    private readonly call: StreamCall,
    private readonly tell: (news: PayloadOf<typeof streamGrew>) => void = () => undefined,
  ) {
    this.types = contentTypesOf(formats);
  }

  takes(contentType: string | string[] | undefined): boolean {
    if (typeof contentType !== 'string' || contentType.length > MAX_TYPE_LENGTH || !PRINTABLE.test(contentType))
      return false;
    if (!this.types.has(mediaTypeOf(contentType))) return false;
    this.writer = isStreamType(contentType)
      ? new StreamWriter(this.store, this.owner, contentType, this.call, this.tell)
      : new FileWriter(this.store, this.owner, contentType);
    return true;
  }

  write(piece: Buffer): Promise<void> | undefined {
    return this.writer!.write(piece);
  }

  end(): Promise<StoredContent> {
    return this.writer!.end();
  }

  timeLeftMs(): number | undefined {
    return this.stream?.timeLeftMs();
  }

  async discard(): Promise<void> {
    await this.writer?.discard();
  }

  get isStream(): boolean {
    return this.stream !== undefined;
  }

  /** The answer, if it is a stream. */
  get stream(): StreamWriter | undefined {
    return this.writer instanceof StreamWriter ? this.writer : undefined;
  }
}
