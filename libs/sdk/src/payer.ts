import type { Offer, SandboxOutcome } from './types.js';

/**
 * Pays offers on one rail, in two steps: what `prepare` made is kept before `send` moves money, so that a call that is
 * repeated after a crash sends the same payment again and makes no second one.
 */
export interface Payer {
  /** Names the rail in what is kept. */
  readonly rail: string;
  /** Whether the offer's network and currency are allowed to this payer, and it can pay there. Asks nobody. */
  canPay(offer: Offer): boolean;
  /** Makes the payment and moves nothing. Where there is no `send`, preparing one offer twice must not pay it twice. */
  prepare(offer: Offer, signal?: AbortSignal): Promise<PreparedPayment>;
  /**
   * Moves the money: once, however often the same payment is sent. Absent where the headers pay. What it throws as a temporary
   * `MarketplaceError` makes it send again.
   */
  send?(payment: KeptPayment, signal?: AbortSignal): Promise<void>;
}

/** As JSON it is whole. It holds no key, and whoever has it can do nothing but make this payment. */
export interface PreparedPayment {
  /** Prove the payment in the repeated call (`PAYMENT-SIGNATURE` of x402). */
  headers?: Record<string, string>;
  /** What `send` sends, as its chain takes it. */
  transaction?: string;
}

export interface KeptPayment extends PreparedPayment {
  relayRequestId: string;
  rail: string;
  offer: Offer;
}

/** What was paid, by relay request id. One that outlives the process keeps calls from being paid twice after a crash. */
export interface PaymentStore {
  find(relayRequestId: string): Promise<KeptPayment | undefined>;
  /** Keeps the first payment of an id, durably. @returns the one that is kept, which may be another's. */
  keep(payment: KeptPayment): Promise<KeptPayment>;
}

const MAX_REMEMBERED = 10_000;

/** The last payments of this process. */
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

/** Pays an offer, or sends again what was kept for it. */
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
    // What is signed for one offer moves money once, however often it is signed; the newest signature is good for longest.
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

/** Pays with the play money of a marketplace in sandbox mode, where paying again what is paid changes nothing. */
export function sandboxPayer(marketplace: Sandbox, outcome: SandboxOutcome = 'paid'): Payer {
  return {
    rail: 'sandbox',
    canPay: ({ provider }) => provider === 'sandbox',
    prepare: async () => ({}),
    send: async ({ relayRequestId }, signal) =>
      void (await marketplace.sandbox.pay(relayRequestId, { outcome, signal })),
  };
}
