import type { InputOf, OutputOf } from '@market/contracts';
import { handleRelayWebhook } from '@market/contracts/payments-ledger';
import { UnavailableError } from '@market/kernel';
import { refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Inject, Injectable } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { isSignedByRelay } from '../rails/relay/relay-signature.js';
import { ReconcilePayment } from './reconcile-payment.js';
import { mayGetMoney, type PaymentState } from './payment-state.js';

const find = sql(
  'payments.find-by-relay-request',
  `SELECT id, state FROM payments WHERE relay_request_id = $1 AND rail = 'relay'`,
);

/**
 * A webhook says when to look and never what is there: what Relay answers when it is asked moves the payment. Nothing is read
 * of a webhook that is not genuine. One statement, and a look at the rail where the payment waits for money.
 */
@Injectable()
export class HandleRelayWebhook {
  constructor(
    private readonly database: Database,
    private readonly reconcilePayment: ReconcilePayment,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

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
    // Relay tells again of what was not heard.
    if (
      payment &&
      mayGetMoney(payment.state) &&
      !(await this.reconcilePayment.reconcile(payment.id, context)).observation
    )
      throw new UnavailableError('Relay');
    return { received: true };
  }
}

/** Relay may tell of more than of requests; what it tells of something else is heard and left. */
function requestIdOf(body: string): string | undefined {
  try {
    const { data } = JSON.parse(body) as { data?: { requestId?: unknown } };
    return typeof data?.requestId === 'string' ? data.requestId.toLowerCase() : undefined;
  } catch {
    return undefined;
  }
}
