import type { RequestContract, ServiceName, ServiceTopology } from '@market/contracts';
import type { Link, Transport } from '@market/messaging';

/** Where on its way a request is lost: before the other side got it, or its answer after. */
export type Loss = 'request' | 'answer';

/** A transport that loses what a test tells it to lose. */
export interface FaultyTransport extends Transport {
  /** From now on requests of this contract are lost, until the function that is returned is called. */
  lose(contract: RequestContract, loss: Loss): () => void;
  /** From now on requests of this contract wait until the function that is returned is called. */
  hold(contract: RequestContract): () => void;
  /** How many requests of this contract were sent, also in vain. */
  sent(contract: RequestContract): number;
}

export function faultyTransport(inner: Transport): FaultyTransport {
  const losses = new Map<string, Loss>();
  const held = new Map<string, Promise<void>>();
  const counts = new Map<string, number>();

  const requestOver = (link: Link): Link['request'] => async (subject, message, withinMs) => {
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
      return new Proxy(link, { get: (target, property) => (property === 'request' ? requestOver(link) : bound(target, property)) });
    },
    close: () => inner.close(),
    lose(contract, loss) {
      losses.set(contract.subject, loss);
      return () => void losses.delete(contract.subject);
    },
    hold({ subject }) {
      let letGo = (): void => {};
      held.set(subject, new Promise((resolve) => (letGo = resolve)));
      return () => {
        held.delete(subject);
        letGo();
      };
    },
    sent: (contract) => counts.get(contract.subject) ?? 0,
  };
}

function bound(target: object, property: string | symbol): unknown {
  const value: unknown = Reflect.get(target, property);
  return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
}

