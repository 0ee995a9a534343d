import {
  topology,
  type InputOf,
  type OutputOf,
  type PayloadOf,
  type ReasonOf,
  type RefusalDetailsOf,
  type RequestContract,
  type ServiceName,
  type SignalContract,
} from '@market/contracts';
import {
  MessageBus,
  Refusal,
  refuse,
  toRequestContext,
  type RequestContext,
  type Link,
  type ReplyEnvelope,
  type RequestEnvelope,
} from '@market/messaging';

type Answer<C extends RequestContract> = (
  input: InputOf<C>,
  context: RequestContext,
) => OutputOf<C> | Promise<OutputOf<C>>;

/**
 * The bus of one service without the other services. A test defines their answers. Requests and answers are validated
 * against the contracts and converted to JSON and back, so that a shape that could not occur over a real bus fails here
 * too.
 */
export class FakeBus extends MessageBus {
  private readonly others: OtherServices;

  constructor(service: ServiceName) {
    const others = new OtherServices();
    super(others, topology[service]);
    this.others = others;
  }

  answers<C extends RequestContract>(contract: C, answer: Answer<C>): this {
    this.others.handlers.set(contract.subject, { contract, answer: answer as unknown as Answer<RequestContract> });
    return this;
  }

  refuses<C extends RequestContract, K extends ReasonOf<C>>(
    contract: C,
    reason: K,
    details: RefusalDetailsOf<C, K>,
  ): this {
    return this.answers(contract, () => {
      throw refuse(contract, reason, details);
    });
  }

  /** Returns the requests so far, oldest first. */
  asked<C extends RequestContract>(contract: C): InputOf<C>[] {
    return this.others.requests
      .filter(({ subject }) => subject === contract.subject)
      .map(({ payload }) => payload as InputOf<C>);
  }

  signalled<C extends SignalContract>(contract: C): PayloadOf<C>[] {
    return this.others.signals
      .filter(({ subject }) => subject === contract.subject)
      .map(({ payload }) => payload as PayloadOf<C>);
  }
}

/** The other services. It replaces the link of a transport. */
class OtherServices implements Pick<Link, 'request' | 'signal'> {
  readonly handlers = new Map<string, { contract: RequestContract; answer: Answer<RequestContract> }>();
  readonly requests: { subject: string; payload: unknown }[] = [];
  readonly signals: { subject: string; payload: unknown }[] = [];

  async request(subject: string, message: RequestEnvelope): Promise<ReplyEnvelope> {
    return throughJson(await this.reply(subject, throughJson(message)));
  }

  signal(subject: string, payload: unknown): void {
    this.signals.push({ subject, payload: throughJson(payload) });
  }

  private async reply(subject: string, envelope: RequestEnvelope): Promise<ReplyEnvelope> {
    const handler = this.handlers.get(subject);
    if (!handler) throw new Error(`nobody answers ${subject}`);
    try {
      const input = handler.contract.input.parse(envelope.data);
      this.requests.push({ subject, payload: input });
      const context = toRequestContext(envelope);
      return { ok: handler.contract.output.parse(await handler.answer(input, context)), notes: context.reply };
    } catch (error) {
      if (error instanceof Refusal) return { refused: { reason: error.reason, details: error.details } };
      // The caller receives no more details than over a real bus, but the author of the test needs them.
      process.stderr.write(`FakeBus could not answer ${subject}: ${String(error)}\n`);
      return { failed: 'internal' };
    }
  }
}

const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
