/** The parties of the call that a file or stream is the answer of. */
export interface ContentOwner {
  callId: string;
  buyerId: string;
  sellerId: string;
}

export interface Chunk extends ContentOwner {
  contentId: string;
  startsAt: number;
  bytes: Buffer;
  /** With the first chunk of a stream. */
  stream?: { lockName: string | null; attempt: number; isShown: boolean; onAbandoned?: (() => void) | undefined };
}

/** Where the bytes of files and streams are stored. */
export interface ChunkStore {
  append(chunk: Chunk): Promise<void>;
  remove(contentId: string): Promise<void>;
  /** A stream is not open any more. */
  closed?(contentId: string): void;
}
