import { readStream, type OpenStream, type streamGrew } from '@market/contracts/gateway';
import type { OutputOf, PayloadOf } from '@market/contracts';
import { setTimeout as delay } from 'node:timers/promises';

/** What has come and was not taken yet. A slow reader reads the rest from what is stored. */
const MAX_WAITING_BYTES = 262_144;
/** A stream that is silent for so long is asked after, because its process may have stopped. */
const ASK_AFTER_MS = 2_000;
/** What has been told and not stored yet is stored within some of this time. */
const ASK_AGAIN_MS = 100;
/** A reader that joins has not heard what is stored within this time. */
const JOINED_AFTER_MS = 300;

type News = PayloadOf<typeof streamGrew>;
type Ask = (offset: number) => Promise<OutputOf<typeof readStream>>;

/** Reads one stream: what its process tells at once, and what was missed from what is stored. */
export class StreamReader {
  private waiting: { offset: number; bytes: number; text: string }[] = [];
  private waitingBytes = 0;
  private isOver = false;
  private wake = (): void => undefined;
  /** The number of bytes that were read. */
  private offset: number;

  /** @param start `offset` is where `text` begins. @param ask `readStream` of this stream. */
  constructor(
    private readonly start: Pick<OpenStream, 'text'> & { offset: number },
    private readonly ask: Ask,
    private readonly signal: AbortSignal,
  ) {
    this.offset = start.offset + Buffer.byteLength(start.text);
    signal.addEventListener('abort', () => this.wake());
  }

  /** Whether it reads what comes, and does not only wait for the end. */
  get mayRead(): boolean {
    return this.offset < Infinity;
  }

  hear({ offset, text, isOver }: News): void {
    const bytes = Buffer.byteLength(text);
    if (isOver) this.isOver = true;
    else if (this.waitingBytes + bytes <= MAX_WAITING_BYTES) {
      this.waiting.push({ offset, bytes, text });
      this.waitingBytes += bytes;
    }
    this.wake();
  }

  /**
   * Yields the text of the stream, and an empty text now and then while there is none.
   * @returns the gateway result as JSON text; null if the stream was cut, or the reader aborted.
   */
  async *read(): AsyncGenerator<string, string | null, undefined> {
    if (this.start.text !== '') yield this.start.text;
    let askAfterMs = this.start.text === '' ? 0 : ASK_AFTER_MS;
    while (!this.signal.aborted) {
      const heard = this.next();
      if (heard !== undefined) {
        yield heard;
        continue;
      }
      // Something is missing before what was heard, or nothing more will be heard.
      const isMissing = this.isOver || this.waiting.length > 0;
      if (!isMissing && (await this.hasNews(askAfterMs))) continue;
      if (this.signal.aborted) break;
      const { text, state, dataJson } = await this.ask(this.offset);
      if (state === 'ended') return dataJson!;
      if (state === 'cut') return null;
      this.offset += Buffer.byteLength(text);
      yield text;
      if (text !== '') askAfterMs = 0;
      else if (isMissing) await delay(ASK_AGAIN_MS, undefined, { signal: this.signal }).catch(() => undefined);
      else askAfterMs = askAfterMs === 0 ? JOINED_AFTER_MS : ASK_AFTER_MS;
    }
    return null;
  }

  /** The text that follows what was read, if it has been told. */
  private next(): string | undefined {
    while (this.waiting.length > 0 && this.waiting[0]!.offset <= this.offset) {
      const { offset, bytes, text } = this.waiting.shift()!;
      this.waitingBytes -= bytes;
      if (offset !== this.offset) continue;
      this.offset += bytes;
      return text;
    }
    return undefined;
  }

  /** @returns whether something was heard in this time. An event comes every few milliseconds, so waiting is cheap. */
  private hasNews(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (hasNews: boolean): void => {
        clearTimeout(timer);
        this.wake = () => undefined;
        resolve(hasNews);
      };
      const timer = setTimeout(end, withinMs, false);
      this.wake = () => end(true);
    });
  }
}
