import type { InputOf, OutputOf } from '@market/contracts';
import { handleRelayWebhook } from '@market/contracts/payments-ledger';
import { UnavailableError } from '@market/kernel';
import { HandleRequest, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../../config.js';
import { mayGetMoney, type PaymentState } from '../../payments/payment-state.js';
import { ReconcilePayment } from '../../payments/reconcile-payment.js';
import { isSignedByRelay } from './relay-signature.js';

const find = sql(
  'payments.find-by-relay-request',
  `SELECT id, state FROM payments WHERE relay_request_id = $1 AND rail = 'relay'`,
);

/**
 * Reconciles the payment that a webhook names. The webhook itself does not change the payment; the answer of Relay's
 * API does. The body of a webhook is not read unless its signature is valid.
 */
@Injectable()
export class HandleRelayWebhook {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  @HandleRequest(handleRelayWebhook)
  async execute(
    webhook: InputOf<typeof handleRelayWebhook>,
    context: RequestContext,
  ): Promise<OutputOf<typeof handleRelayWebhook>> {
    const { relayUrl, relayApiKey } = this.config;
    if (!relayUrl || !relayApiKey) throw refuse(handleRelayWebhook, 'relay_not_configured', {});
    if (!isSignedByRelay(webhook, relayApiKey, Date.now())) throw refuse(handleRelayWebhook, 'webhook_not_genuine', {});
    const requestId = requestIdOf(webhook.body);
    const [payment] =
      requestId === undefined ? [] : await this.database.query<{ id: string; state: PaymentState }>(find, [requestId]);
    // An error makes Relay repeat the webhook, because it was not acknowledged.
    if (
      payment &&
      mayGetMoney(payment.state) &&
      !(await this.reconcilePayment.reconcile(payment.id, context, 'announced')).observation
    )
      throw new UnavailableError('Relay');
    return { received: true };
  }
}

/** Relay may send webhooks about objects other than requests. They are acknowledged and ignored. */
function requestIdOf(body: string): string | undefined {
  try {
    const { data } = JSON.parse(body) as { data?: { requestId?: unknown } };
    return typeof data?.requestId === 'string' ? data.requestId.toLowerCase() : undefined;
  } catch {
    return undefined;
  }
}
