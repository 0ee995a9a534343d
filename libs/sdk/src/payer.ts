import type { Offer, SandboxOutcome } from './types.js';

/**
 * Pays offers on one rail, in two steps: the payment that `prepare` makes is stored before `send` moves money. So a
 * call that is repeated after a crash sends the same payment again and does not make a second one.
 */
export interface Payer {
  /** The name of the rail in stored payments. */
  readonly rail: string;
  /** Whether this payer may and can pay in the offer's currency on its network. Sends no request. */
  canPay(offer: Offer): boolean;
  /** Makes the payment but moves no money. Without `send`, preparing one offer twice must not pay it twice. */
  prepare(offer: Offer, signal?: AbortSignal): Promise<PreparedPayment>;
  /**
   * Moves the money once, however often the same payment is sent. Absent when the headers pay. It is called again after
   * it threw a temporary `MarketplaceError`.
   */
  send?(payment: KeptPayment, signal?: AbortSignal): Promise<void>;
}

/** A payment that survives serialisation to JSON. It contains no key, and can be used only to make this payment. */
export interface PreparedPayment {
  /** The headers that prove the payment in the repeated call (`PAYMENT-SIGNATURE` of x402). */
  headers?: Record<string, string>;
  /** The transaction that `send` sends, encoded for its chain. */
  transaction?: string;
}

export interface KeptPayment extends PreparedPayment {
  relayRequestId: string;
  rail: string;
  offer: Offer;
}

/** Stores payments by relay request id. A durable store prevents that calls are paid twice after a crash. */
export interface PaymentStore {
  find(relayRequestId: string): Promise<KeptPayment | undefined>;
  /** Stores the first payment of an id durably. @returns the stored one, which a concurrent call may have made. */
  keep(payment: KeptPayment): Promise<KeptPayment>;
}

const MAX_REMEMBERED = 10_000;

/** Stores the last payments of this process, in memory. */
export class RecentPayments implements PaymentStore {
  readonly #payments = new Map<string, KeptPayment>();

  async find(relayRequestId: string): Promise<KeptPayment | undefined> {
    return this.#payments.get(relayRequestId);
  }

  async keep(payment: KeptPayment): Promise<KeptPayment> {
    const first = this.#payments.get(payment.relayRequestId);
    if (first) return first;
    this.#payments.set(payment.relayRequestId, payment);
    if (this.#payments.size > MAX_REMEMBERED) this.#payments.delete(this.#payments.keys().next().value!);
    return payment;
  }
}

/** Pays an offer, or sends its stored payment again. */
export async function payOnce(
  offer: Offer,
  payer: Payer,
  store: PaymentStore,
  signal?: AbortSignal,
): Promise<KeptPayment> {
  const { relay_request_id: relayRequestId } = offer;
  const prepare = async (): Promise<KeptPayment> => ({
    ...(await payer.prepare(offer, signal)),
    relayRequestId,
    rail: payer.rail,
    offer,
  });
  if (!payer.send) {
    // All signatures for one offer together move money once, and the newest is valid for longest.
    const payment = await prepare();
    await store.keep(payment);
    return payment;
  }
  const payment = (await store.find(relayRequestId)) ?? (await store.keep(await prepare()));
  if (payment.rail === payer.rail) await payer.send(payment, signal);
  return payment;
}

interface Sandbox {
  readonly sandbox: {
    pay(relayRequestId: string, options?: { outcome?: SandboxOutcome; signal?: AbortSignal }): Promise<unknown>;
  };
}

/** Pays with the play money of a marketplace in sandbox mode, where a second payment of an offer changes nothing. */
export function sandboxPayer(marketplace: Sandbox, outcome: SandboxOutcome = 'paid'): Payer {
  return {
    rail: 'sandbox',
    canPay: ({ provider }) => provider === 'sandbox',
    prepare: async () => ({}),
    send: async ({ relayRequestId }, signal) =>
      void (await marketplace.sandbox.pay(relayRequestId, { outcome, signal })),
  };
}
