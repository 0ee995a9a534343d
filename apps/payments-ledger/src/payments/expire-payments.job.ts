import { newCall } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Jobs } from '@market/runtime';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { paymentsLedgerConfig, type PaymentsLedgerConfig } from '../config.js';
import { ObservePayment } from './observe-payment.js';

const unpaid = sql('payments.unpaid-past-expiry', `SELECT id FROM payments WHERE state IN ('pending', 'underpaid') AND expires_at <= now() ORDER BY expires_at LIMIT 200`);
const undelivered = sql('payments.undelivered-past-window', `SELECT id FROM payments WHERE state = 'verified' AND retry_until <= now() ORDER BY retry_until LIMIT 200`);

const abandoned = sql('payments.release-abandoned', `UPDATE payments SET state = 'verified', lease_until = NULL WHERE state = 'in_flight' AND lease_until < now() - interval '60 seconds'`);

/**
 * Ends what time has ended: unpaid offers expire after a last look at their rail, undelivered payments are owed back, once;
 * a claim whose holder is long gone is given back, so that it too can be repeated or owed back.
 */
@Injectable()
export class ExpirePayments implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly observePayment: ObservePayment,
    private readonly jobs: Jobs,
    @Inject(paymentsLedgerConfig.token) private readonly config: PaymentsLedgerConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('expire-payments', this.config.sweepIntervalMs, () => this.run());
  }

  async run(): Promise<void> {
    await this.database.query(abandoned);
    for (const { id } of await this.database.query<{ id: string }>(unpaid)) await this.observePayment.execute(id, newCall());
    for (const { id } of await this.database.query<{ id: string }>(undelivered)) await this.oweBack(id);
  }

  private async oweBack(paymentId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const payment = await this.observePayment.lock(tx, paymentId);
      if (payment.state !== 'verified' || payment.retry_until! > payment.as_of) return;
      const received = { receivedBaseUnits: BigInt(payment.received_base_units), transactionHash: payment.transaction_hash };
      await this.observePayment.oweBack(tx, payment, received, 'not_delivered', BigInt(payment.gross_micros), newCall());
    });
  }
}
