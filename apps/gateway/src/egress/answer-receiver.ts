import type { StoredContent } from '@market/contracts/gateway';

/** The seller's stream is not one, or it breaks off. */
export class BrokenStream extends Error {
  override readonly name = 'BrokenStream';
}

/** Takes one answer of a seller that is a file or a stream, piece by piece. */
export interface AnswerReceiver {
  readonly maxBytes: number;
  /** Of what it takes. */
  readonly isStream: boolean;
  /** Whether an answer of this Content-Type is a file or a stream. @param contentType is an array if the header is repeated. */
  takes(contentType: string | string[] | undefined): boolean;
  /** @returns when the next piece may come, if that is not at once. @throws BrokenStream */
  write(piece: Buffer): Promise<void> | undefined;
  /** Resolves once all of it is stored. @throws BrokenStream */
  end(): Promise<StoredContent>;
  /**
   * In how many milliseconds more of a stream has to come, once its first event has; undefined before that, and for a
   * file, because the time of the whole call counts then.
   */
  timeLeftMs(): number | undefined;
}
