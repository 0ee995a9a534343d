import { MarketplaceError } from './errors.js';
import type { ServerEvents } from './http.js';
import type { CallFacts, GatewayResult, X402Settlement } from './types.js';

export interface StreamEvent<T = unknown> {
  /** `message` where the seller gave it no name. */
  event: string;
  /** Parsed where it is a JSON object or array; text otherwise. */
  data: T;
  id: string | null;
}

/** The `seller_response` of `call` where the seller answered with a stream. */
export interface StreamAnswer<T = unknown> {
  /** As the seller sent it. */
  content_type: string;
  /** Bytes of the stream as server-sent events. */
  size: number;
  /** Of these bytes, in lower-case hex. */
  sha256: string;
  outcome: 'completed' | 'broken';
  /** Absent above 4 MiB. */
  events?: StreamEvent<T>[];
  /** The path of the bytes; null for a call without a key. */
  content_url: string | null;
}

/** The gateway result of a stream. It is owed back whole, and `billable` is false, if its `outcome` is `broken`. */
export interface StreamResult
  extends Omit<GatewayResult, 'seller_response'>, Partial<Pick<StreamAnswer, 'outcome' | 'sha256'>> {
  /** How many the seller sent. This and the other facts of the stream are absent if the seller sent none. */
  events?: number;
  bytes?: number;
  /** The answer of a seller that sent no stream. */
  seller_response?: unknown;
}

/** Whether a `seller_response` is a stream. */
export const isStream = (answer: unknown): answer is StreamAnswer => {
  const { content_type, sha256, outcome, content_url } = (answer ?? {}) as Partial<StreamAnswer>;
  return (
    typeof content_type === 'string' &&
    /^[0-9a-f]{64}$/.test(String(sha256)) &&
    (outcome === 'completed' || outcome === 'broken') &&
    content_url !== undefined
  );
};

/** What one connection gives of a stream. */
export interface Part {
  events?: ServerEvents;
  /** Instead, of a call that was not answered with a stream. */
  result?: StreamResult;
  /** How many of its first events were read before; 0 by default. */
  known?: number;
}

/** How far a stream was read. */
export class Place {
  /** How many events of the seller were read. */
  events = 0;
  /** The id of one of them, and how many came behind it. */
  id: string | undefined;
  behindId = 0;
  requestId: string | undefined;
  /** How often the connection was lost since the last event. */
  cuts = 0;
  #opened: string | undefined;
  readonly #ids = new Set<string>();

  /** @throws MarketplaceError with `STREAM_RESTARTED` if it is not the stream that was read before. */
  open({ request_id, attempt }: { request_id: string; attempt?: number }): void {
    // A stream that is over comes without the attempt.
    const opened = attempt === undefined ? undefined : `${request_id} ${attempt}`;
    if (this.events > 0 && (request_id !== this.requestId || (opened ?? this.#opened) !== this.#opened))
      throw restarted();
    this.requestId = request_id;
    this.#opened = opened ?? this.#opened;
  }

  pass(id: string): void {
    this.events += 1;
    this.cuts = 0;
    // A stream goes on behind the first event of an id, and a header has no other letters.
    const isName = /^[!-~]+$/.test(id) && !this.#ids.has(id);
    this.#ids.add(id);
    this.id = isName ? id : this.id;
    this.behindId = isName ? 0 : this.behindId + 1;
  }

  /** @throws MarketplaceError with `STREAM_RESTARTED` if these are not all events of the stream. */
  end({ events }: StreamResult): void {
    if (events !== undefined && events !== this.events) throw restarted();
  }
}

/**
 * A stream that is read while its seller sends it: `for await (const { event, data, id } of stream)`. Whoever leaves the
 * loop hangs up, and has bought the stream.
 */
export class AnswerStream<T = unknown> implements CallFacts {
  readonly relayRequestId: string | null;
  readonly idempotencyKey: string;
  readonly settlement: X402Settlement | null;
  readonly #events: AsyncGenerator<StreamEvent<T>, void, undefined>;
  #result: StreamResult | undefined;

  /** @param rejoin gets the stream again after its connection was lost. */
  constructor(part: Part, rejoin: (place: Place) => Promise<Part>, facts: CallFacts) {
    this.relayRequestId = facts.relayRequestId;
    this.idempotencyKey = facts.idempotencyKey;
    this.settlement = facts.settlement;
    this.#events = this.#read(part, rejoin);
  }

  [Symbol.asyncIterator](): AsyncGenerator<StreamEvent<T>, void, undefined> {
    return this.#events;
  }

  /** Reads what was not read, and returns what became of the call. */
  async result(): Promise<StreamResult> {
    for await (const _ of this.#events);
    if (this.#result) return this.#result;
    throw new MarketplaceError({ status: 0, code: 'ABORTED', message: 'The stream was not read to its end.' });
  }

  async *#read(part: Part, rejoin: (place: Place) => Promise<Part>): AsyncGenerator<StreamEvent<T>, void, undefined> {
    const place = new Place();
    try {
      for (;;) {
        if (part.result) return void (this.#result = part.result);
        yield* this.#readPart(part, place);
        if (this.#result) return;
        place.cuts += 1;
        part = await rejoin(place);
      }
    } catch (error) {
      if (error instanceof MarketplaceError) error.relayRequestId ??= this.relayRequestId ?? undefined;
      throw error;
    }
  }

  /** Ends with the connection. */
  async *#readPart({ events, known = 0 }: Part, place: Place): AsyncGenerator<StreamEvent<T>, void, undefined> {
    try {
      for await (const { event = 'message', data, id = '' } of events!) {
        if (event === 'market.open') place.open(JSON.parse(data) as { request_id: string });
        else if (event === 'market.result') {
          const result = JSON.parse(data) as StreamResult;
          place.end(result);
          return void (this.#result = result);
        } else if (known > 0) known -= 1;
        else {
          place.pass(id);
          yield { event, data: valueOf(data) as T, id: id || null };
        }
      }
    } catch (error) {
      if (!(error instanceof MarketplaceError) || !error.isTemporary) throw error;
    }
  }
}

/** As the marketplace does where it collects a stream: a number or a word is text as well. */
function valueOf(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const restarted = (): MarketplaceError =>
  new MarketplaceError({
    status: 200,
    code: 'STREAM_RESTARTED',
    message:
      'The seller was asked again, and what was read belongs to no answer. Repeat the call with its relayRequestId or ' +
      'idempotencyKey to read the new stream; nothing is paid twice.',
  });
