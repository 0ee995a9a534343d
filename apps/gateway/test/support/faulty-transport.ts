import type { RequestContract, ServiceName, ServiceTopology } from '@market/contracts';
import type { Link, Transport } from '@market/messaging';

/** Whether the request is lost before it reaches the service, or its answer. */
type Loss = 'request' | 'answer';

/** A transport that loses messages on demand. */
export interface FaultyTransport extends Transport {
  /** Loses requests of this contract until the returned function is called. */
  lose(contract: RequestContract, loss: Loss): () => void;
  /** Holds requests of this contract until the returned function is called. */
  hold(contract: RequestContract): () => void;
  /** The number of requests of this contract that were sent, including lost ones. */
  sent(contract: RequestContract): number;
}

export function faultyTransport(inner: Transport): FaultyTransport {
  const losses = new Map<string, Loss>();
  const held = new Map<string, Promise<void>>();
  const counts = new Map<string, number>();

  const requestOver =
    (link: Link): Link['request'] =>
    async (subject, message, withinMs) => {
      counts.set(subject, (counts.get(subject) ?? 0) + 1);
      const loss = losses.get(subject);
      if (loss === 'request') throw new Error(`${subject} was lost`);
      await held.get(subject);
      const reply = await link.request(subject, message, withinMs);
      if (loss === 'answer') throw new Error(`the answer of ${subject} was lost`);
      return reply;
    };

  return {
    async connect(service: ServiceName, topology: ServiceTopology): Promise<Link> {
      const link = await inner.connect(service, topology);
      const faulty: Partial<Link> = { request: requestOver(link) };
      return new Proxy(link, { get: (target, property) => Reflect.get(faulty, property) ?? bound(target, property) });
    },
    close: () => inner.close(),
    lose(contract, loss) {
      losses.set(contract.subject, loss);
      return () => void losses.delete(contract.subject);
    },
    hold({ subject }) {
      let release = (): void => {};
      held.set(subject, new Promise((resolve) => (release = resolve)));
      return () => {
        held.delete(subject);
        release();
      };
    },
    sent: (contract) => counts.get(contract.subject) ?? 0,
  };
}

function bound(target: object, property: string | symbol): unknown {
  const value: unknown = Reflect.get(target, property);
  return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
}
