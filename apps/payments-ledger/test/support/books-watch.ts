import { sql } from '@market/persistence';
import type { FreshDatabase } from '@market/testing';
import { verifyPayments } from '../../src/books/verify-payments.js';
import { verifyJournal } from '../../src/journal/verify-journal.js';
import { mayMove, type PaymentState } from '../../src/payments/payment-state.js';

interface Move {
  payment_id: string;
  from_state: PaymentState;
  to_state: PaymentState;
}

/** Finds payments whose books do not match their state and the money sent for them. */
const wrongPayments = sql(
  'test.wrong-payments',
  `  WITH facts AS (
    SELECT p.id, p.state, p.purpose, p.buyer_id, p.seller_id, p.gross_micros, coalesce(p.quoted_micros, p.gross_micros) AS quoted,
      p.fee_micros, p.net_micros,
      (SELECT count(*) FROM receipts r
        WHERE r.payment_id = p.id AND r.recipient_type = 'buyer' AND r.recipient_id = p.buyer_id) AS buyer_receipts,
      (SELECT count(*) FROM receipts r
        WHERE r.payment_id = p.id AND r.recipient_type = 'seller' AND r.recipient_id = p.seller_id) AS seller_receipts,
      (SELECT count(*) FROM receipts r WHERE r.payment_id = p.id) AS receipts,
      (SELECT count(DISTINCT (request_digest, response_digest, seller_status_code)) FROM receipts r WHERE r.payment_id = p.id) AS versions,
      (SELECT count(*) FROM journal_transactions t
        WHERE t.payment_id = p.id AND t.reason = CASE p.purpose
          WHEN 'call' THEN 'call_completed' WHEN 'subscription' THEN 'subscription_started' ELSE 'fees_paid' END) AS charges,
      (SELECT coalesce(sum(o.amount_micros), 0) FROM journal_transactions t JOIN postings o ON o.sequence = t.sequence
        WHERE t.payment_id = p.id AND o.type = 'direct_payment') AS charged,
      (SELECT coalesce(sum(CASE o.direction WHEN 'credit' THEN o.amount_micros ELSE -o.amount_micros END), 0)
        FROM journal_transactions t JOIN postings o ON o.sequence = t.sequence
        WHERE t.payment_id = p.id AND o.account LIKE 'agent:' || coalesce(p.seller_id, p.buyer_id) || ':%'
          AND o.type IN ('seller_credit', 'marketplace_fee')) AS earned,
      (SELECT coalesce(sum(o.amount_micros), 0) FROM journal_transactions t JOIN postings o ON o.sequence = t.sequence
        WHERE t.payment_id = p.id AND o.account = 'agent:' || p.buyer_id || ':refunds' AND o.direction = 'credit') AS owed,
      CASE WHEN p.rail = 'sandbox' THEN coalesce((SELECT sum(amount_base_units) FROM sandbox_transfers s WHERE s.payment_id = p.id), 0)
        ELSE p.received_base_units END AS received,
      p.amount_base_units, p.authorization_id IS NOT NULL AND p.state <> 'completed' AS only_authorized
    FROM payments p WHERE p.purpose <> 'included'
  )
  SELECT * FROM facts WHERE
    (state = 'completed' AND purpose = 'fee' AND (charges <> 1 OR receipts <> 0 OR charged <> 0 OR earned <> gross_micros))
    OR (state = 'completed' AND purpose <> 'fee' AND (
      charges <> 1 OR receipts <> 2 OR buyer_receipts <> 1 OR seller_receipts <> 1
      OR versions <> 1 OR charged <> gross_micros OR earned <> net_micros))
    OR (state <> 'completed' AND (charges <> 0 OR receipts <> 0 OR charged <> 0 OR earned <> 0))
    OR (owed <> CASE
        WHEN state IN ('refund_due', 'refunded') THEN floor(received * quoted / amount_base_units)
        WHEN state IN ('verified', 'completed') AND NOT only_authorized
          THEN floor(received * quoted / amount_base_units) - gross_micros
        ELSE 0 END)`,
);

/**
 * Records every change of a payment's state with a database trigger. On demand, checks that all transitions are in the
 * table, that the journal is consistent, and that charges, receipts and refunds match each payment.
 */
export async function watchBooks(db: FreshDatabase): Promise<{ reconcile(): Promise<void>; moves(): Promise<Move[]> }> {
  await db.inspect(
    `CREATE TABLE public.payment_moves (
       sequence bigint GENERATED ALWAYS AS IDENTITY, payment_id uuid NOT NULL,
       from_state text NOT NULL, to_state text NOT NULL)`,
  );
  await db.inspect(`CREATE FUNCTION public.record_move() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
      INSERT INTO public.payment_moves (payment_id, from_state, to_state) VALUES (NEW.id, OLD.state, NEW.state);
      RETURN NULL;
    END $$`);
  await db.inspect(
    `CREATE TRIGGER record_move AFTER UPDATE ON payments_ledger.payments FOR EACH ROW
     WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION public.record_move()`,
  );
  const moves = (): Promise<Move[]> =>
    db.inspect<Move & Record<string, unknown>>(
      'SELECT payment_id, from_state, to_state FROM public.payment_moves ORDER BY sequence',
    );
  return {
    moves,
    async reconcile() {
      const unknown = (await moves()).filter(({ from_state, to_state }) => !mayMove(from_state, to_state));
      const wrong = await db.database.query(wrongPayments);
      expect({
        unknownMoves: unknown,
        wrongPayments: wrong,
        journal: (await verifyJournal(db.database)).problems,
        payments: await verifyPayments(db.database),
      }).toEqual({ unknownMoves: [], wrongPayments: [], journal: [], payments: [] });
    },
  };
}
