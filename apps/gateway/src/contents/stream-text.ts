import { EVENT_STREAM, mediaTypeOf } from '@market/contracts/gateway';
import { isUnits } from '@market/kernel';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { isUtf8 } from 'node:buffer';
import { BrokenStream } from '../egress/answer-receiver.js';

/** The largest event, in characters. */
const MAX_EVENT = 1_048_576;

/**
 * Reads the stream of a seller, and writes it anew as server-sent events (HTML Living Standard, 9.2): its events with
 * their names and ids, and its comments. A value of a stream of JSON lines becomes an event without a name. Events that
 * are named like the marketplace's own are not taken, so that a seller cannot write in its name.
 */
export class StreamText {
  /** How many events have come; comments are none. */
  events = 0;
  /** What the last event says that the call used; undefined if it does not say it. */
  units: number | undefined;
  /** What is wrong with the stream. It was found behind what was written last. */
  fault: unknown;
  private written = '';
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });
  private readonly read: (text: string, isEnd: boolean) => void;

  constructor(contentType: string) {
    this.read = mediaTypeOf(contentType) === EVENT_STREAM ? this.eventReader() : this.lineReader();
  }

  /** @returns what has become complete, written anew. @throws BrokenStream */
  write(piece: Buffer): string {
    return this.take(piece, false);
  }

  /** @returns what only the end completes. @throws BrokenStream */
  end(): string {
    return this.take(Buffer.alloc(0), true);
  }

  /** The events before a fault count, however the stream is cut into pieces. */
  private take(piece: Buffer, isEnd: boolean): string {
    this.written = '';
    try {
      if (this.fault !== undefined) throw this.fault;
      for (const part of isUtf8(piece) ? [piece] : linesOf(piece)) this.read(this.decode(part, isEnd), isEnd);
    } catch (error) {
      this.fault = error;
      if (this.written === '') throw error;
    }
    return this.written;
  }

  private decode(piece: Buffer, isEnd: boolean): string {
    try {
      return this.decoder.decode(piece, { stream: !isEnd });
    } catch (error) {
      throw new BrokenStream('the stream is not UTF-8', { cause: error });
    }
  }

  private eventReader(): (text: string, isEnd: boolean) => void {
    let endsWithReturn = false;
    const parser = createParser({
      maxBufferSize: MAX_EVENT,
      onEvent: (event) => this.add(event),
      onComment: (comment) => void (this.written += `: ${comment}\n\n`),
      onError: ({ type }) => {
        if (type === 'max-buffer-size-exceeded') throw new BrokenStream('an event is too large');
      },
    });
    return (text, isEnd) => {
      if (text !== '') endsWithReturn = text.endsWith('\r');
      parser.feed(text);
      // A return ends a line, and the parser waits for what may follow it.
      if (isEnd && endsWithReturn) parser.feed('\n');
    };
  }

  private lineReader(): (text: string, isEnd: boolean) => void {
    let [parts, length]: [string[], number] = [[], 0];
    const endLine = (): void => {
      const line = parts.join('');
      [parts, length] = [[], 0];
      if (line.trim() !== '') this.addLine(line);
    };
    return (text, isEnd) => {
      const pieces = text.split('\n');
      pieces.forEach((piece, n) => {
        if (n > 0) endLine();
        parts.push(piece);
        length += piece.length;
        if (length > MAX_EVENT) throw new BrokenStream('a line is too large');
      });
      if (isEnd) endLine();
    };
  }

  private addLine(line: string): void {
    try {
      JSON.parse(line);
    } catch (error) {
      throw new BrokenStream('a line is not JSON', { cause: error });
    }
    // Between the parts of a JSON value, a return is a space; for a reader of events it would end the line.
    this.add({ data: line.replaceAll('\r', ' ').trim() });
  }

  private add({ event, id, data }: Pick<EventSourceMessage, 'event' | 'id' | 'data'>): void {
    if (/^\s*market(\.|\s*$)/i.test(event ?? '')) throw new BrokenStream('an event has a name of the marketplace');
    this.events += 1;
    this.units = unitsIn(data);
    const lines = [
      ...(event === undefined ? [] : [`event: ${event}`]),
      ...(id === undefined || id.startsWith('market.') ? [] : [`id: ${id}`]),
      ...data.split('\n').map((line) => `data: ${line}`),
    ];
    this.written += `${lines.join('\n')}\n\n`;
  }
}

function* linesOf(piece: Buffer): Generator<Buffer> {
  for (let start = 0; start < piece.length;) {
    const end = piece.indexOf('\n', start) + 1 || piece.length;
    yield piece.subarray(start, end);
    start = end;
  }
}

/** Most events are long, and none but a short one says units. */
const MAX_UNITS_TEXT = 4_096;

function unitsIn(data: string): number | undefined {
  if (data.length > MAX_UNITS_TEXT || !data.includes('"units"')) return undefined;
  try {
    const { units } = JSON.parse(data) as { units?: unknown };
    return isUnits(units) ? units : undefined;
  } catch {
    return undefined;
  }
}
