import { MarketplaceError } from './errors.js';
import type { PaymentOffer, SandboxOutcome } from './types/payments.js';

/**
 * Pays an offer on some rail. `call()` asks at most once for a call; a payer that is unsure whether it paid should
 * return, because the marketplace answers 202 until it has seen the payment.
 */
export interface Payer {
  /** @returns headers that prove the payment, if the rail needs any (`PAYMENT-SIGNATURE` of x402). */
  pay(payment: PaymentOffer, signal?: AbortSignal): Promise<{ headers?: Record<string, string> } | void>;
}

interface Sandbox {
  readonly sandbox: {
    pay(relayRequestId: string, options?: { outcome?: SandboxOutcome; signal?: AbortSignal }): Promise<unknown>;
  };
}

const SANDBOX_TRIES = 3;

/** Pays with the play money of a marketplace in sandbox mode, where paying again what is paid changes nothing. */
export function sandboxPayer(marketplace: Sandbox, outcome: SandboxOutcome = 'paid'): Payer {
  return {
    async pay(payment, signal) {
      for (let tries = 1; ; tries += 1) {
        try {
          await marketplace.sandbox.pay(payment.relay_request_id, { outcome, signal });
          return;
        } catch (error) {
          if (!(error instanceof MarketplaceError) || !error.isAmbiguous || tries === SANDBOX_TRIES) throw error;
        }
      }
    },
  };
}
