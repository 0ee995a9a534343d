import type { InputOf, OutputOf } from '@market/contracts';
import { findExactOffer } from '@market/contracts/payments-ledger';
import { principalOf, refuse, type Call } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { Authorizations } from './authorizations.js';
import { paymentColumns, type PaymentRow } from './payment.js';

const find = sql('payments.find-by-address', `SELECT ${paymentColumns('p')} FROM payments p WHERE lower(deposit_address) = lower($1) AND buyer_id = $2 ORDER BY id DESC LIMIT 1`);

/** The terms of an offer of the caller's by the address it is paid to, whatever became of it. One statement. */
@Injectable()
export class FindExactOffer {
  constructor(
    private readonly database: Database,
    private readonly authorizations: Authorizations,
  ) {}

  async execute({ payTo }: InputOf<typeof findExactOffer>, call: Call): Promise<OutputOf<typeof findExactOffer>> {
    const [payment] = await this.database.query<PaymentRow>(find, [payTo, principalOf(call).accountId]);
    const requirements = payment && this.authorizations.requirementsOf(payment);
    if (!requirements) throw refuse(findExactOffer, 'payment_not_found', {});
    return { requirements };
  }
}
