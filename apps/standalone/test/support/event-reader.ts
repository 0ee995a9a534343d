import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { EventEmitter, once } from 'node:events';

/** A gateway result, as a stream ends with it or as it is collected. */
export interface StreamResult {
  request_id: string;
  billable: boolean;
  charged_amount: { amount_cents: number };
  seller_status_code: number;
  outcome: string;
  events: number;
  bytes: number;
  sha256: string;
  error?: { reason: string };
  refund?: { status: string };
  seller_response: { content_type: string; events: unknown[]; sha256: string; content_url: string | null } | null;
}

/** Reads a stream of events as they come. */
export class EventReader {
  readonly events: EventSourceMessage[] = [];
  isOver = false;
  private readonly changed = new EventEmitter();
  private readonly stopped = new AbortController();

  constructor(readonly response: Response) {
    void this.read();
  }

  static async open(answer: Promise<Response>): Promise<EventReader> {
    return new EventReader(await answer);
  }

  async until(done: (reader: EventReader) => boolean): Promise<this> {
    while (!done(this)) await once(this.changed, 'change');
    return this;
  }

  data(): string[] {
    return this.events.filter(({ event }) => !event?.startsWith('market.')).map(({ data }) => data);
  }

  get result(): StreamResult | undefined {
    const event = this.events.find((each) => each.event === 'market.result');
    return event && (JSON.parse(event.data) as StreamResult);
  }

  hangUp(): void {
    this.stopped.abort();
  }

  private async read(): Promise<void> {
    const parser = createParser({ onEvent: (event) => this.events.push(event) });
    const decoder = new TextDecoder();
    const body = this.response.body!.getReader();
    this.stopped.signal.addEventListener('abort', () => void body.cancel());
    try {
      for (;;) {
        const { done, value } = await body.read();
        if (done) break;
        const text = decoder.decode(value, { stream: true });
        parser.feed(text);
        this.changed.emit('change');
      }
    } catch {
      // A stream that is cut ends as well.
    }
    this.isOver = true;
    this.changed.emit('change');
  }
}
