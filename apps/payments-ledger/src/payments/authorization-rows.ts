import type { settlePayment } from '@market/contracts/payments-ledger';
import type { InputOf } from '@market/contracts';
import { sql, withParameters } from '@market/persistence';
import type { HeldAuthorization } from '../rails/x402/facilitator.js';
import { paymentColumns } from './payment.js';

type Input = InputOf<typeof settlePayment>;

export interface AuthorizationRow {
  id: string;
  payment_id: string;
  network: string;
  state: 'held' | 'settling' | 'settled' | 'refused' | 'lapsed';
  payer: string;
  nonce: string;
  valid_before: Date;
  payload: string;
  /** The call to charge for after the settlement; null if it is settled before the seller is called. */
  settlement: Input | null;
  /** The only facilitator that may have the signature, or is to get it first; null if none may. */
  facilitator: string | null;
  attempts: number;
  /** What the facilitator answered first, if the authorization is not settled; why it was refused, if it was. */
  reason: string | null;
  created_at: Date;
}

export type BegunColumns = Pick<
  AuthorizationRow,
  'payer' | 'nonce' | 'valid_before' | 'payload' | 'facilitator' | 'attempts'
> & {
  held_at: Date;
};

const COLUMNS =
  'a.id, a.payment_id, a.network, a.state, a.payer, a.nonce, a.valid_before, a.payload, a.facilitator, a.settlement, a.attempts, ' +
  'a.reason, a.created_at';
export const find = sql('authorizations.find', `SELECT ${COLUMNS} FROM authorizations a WHERE a.id = $1`);
export const payments = sql(
  'payments.of-authorization',
  `SELECT ${paymentColumns('p')} FROM payments p WHERE p.id = $1`,
);
/** For how long a call that was paid first, and whose buyer has no key, may be asked for again. */
const KEYLESS_RETRY_SECONDS = 600;
/** The lease of a settlement, after which another process may continue it. */
const LEASE = `interval '2500 milliseconds'`;

/** An authorization that has expired can pay no more. It is only looked for, and not handed in again. */
const TRIED = `attempts = a.attempts + (a.valid_before > now())::int, tried_at = now(), settling_until = now() + ${LEASE}`;
/** The intent to settle is stored before the facilitator is asked, so that any process can finish it. */
const SETTLING = `state = 'settling', attempts = a.attempts + 1, tried_at = now(), settling_until = now() + ${LEASE}`;
export const begin = withParameters({ calls: 'payment_id uuid, settlement jsonb' }, ({ calls }) => {
  const { payment_id, settlement } = calls.arrays;
  return sql(
    'authorizations.begin',
    `WITH begun AS (
       UPDATE payments p SET state = 'indeterminate'
       WHERE p.id = ANY(${payment_id})
         AND p.state = 'verified' AND p.authorization_id IS NOT NULL AND p.received_base_units = 0
         AND p.in_use_until IS NOT NULL
       RETURNING ${paymentColumns('p')}, (${settlement})[array_position(${payment_id}, p.id)] AS settlement
     )
     UPDATE authorizations a SET ${SETTLING}, settlement = b.settlement FROM begun b
     WHERE a.id = ANY(ARRAY(SELECT authorization_id FROM begun)) AND a.id = b.authorization_id
     RETURNING ${paymentColumns('b')}, a.payer, a.nonce, a.valid_before, a.payload, a.facilitator, a.attempts, a.created_at AS held_at`,
  );
});
export const beginFirst = sql(
  'authorizations.begin-first',
  `WITH payment AS (UPDATE payments SET state = 'indeterminate' WHERE id = $1)
   UPDATE authorizations a SET ${SETTLING}, settlement = NULL WHERE a.id = $2 RETURNING ${COLUMNS}`,
);
export const takeAgain = sql(
  'authorizations.take-again',
  `UPDATE authorizations a SET ${TRIED}
   WHERE a.id IN (
     SELECT id FROM authorizations WHERE state = 'settling' AND settling_until < now()
     ORDER BY settling_until LIMIT 50 FOR UPDATE SKIP LOCKED)
   RETURNING ${COLUMNS}`,
);
export const tryAgain = sql(
  'authorizations.try-again',
  `UPDATE authorizations a SET ${TRIED} WHERE a.id = $1 AND a.attempts = $2 AND a.state = 'settling' RETURNING ${COLUMNS}`,
);
export const renew = sql(
  'authorizations.renew',
  `UPDATE authorizations a SET settling_until = now() + ${LEASE} FROM unnest($1::uuid[], $2::int[]) AS held (id, attempts)
   WHERE a.id = held.id AND a.attempts = held.attempts AND a.state = 'settling'`,
);
export const postpone = sql(
  'authorizations.postpone',
  `UPDATE authorizations SET settling_until = now() + $3 * interval '1 millisecond' WHERE id = $1 AND attempts = $2 AND state = 'settling'`,
);
export const remember = sql(
  'authorizations.remember',
  `UPDATE authorizations SET reason = coalesce(reason, $2) WHERE id = $1 AND state = 'settling'`,
);
/** Applies only to the last attempt, as a later one may have given the signature to somebody else. */
export const give = sql(
  'authorizations.give',
  `UPDATE authorizations SET facilitator = $3 WHERE id = $1 AND attempts = $2 AND state = 'settling' RETURNING id`,
);
/**
 * A payer whose last settlement failed is trusted again after a settlement that began later. Payers are locked in the
 * order of their keys, as `AuthorizeSignedPayment` locks them, so that the two do not deadlock.
 */
export const settled = withParameters(
  {
    settlements:
      'payment_id uuid, authorization_id uuid, transaction_hash text, base_units numeric, is_unanswered boolean',
  },
  ({ settlements }) => {
    const { payment_id, authorization_id, transaction_hash, base_units, is_unanswered } = settlements.arrays;
    const ofPayment = (values: string): string => `(${values})[array_position(${payment_id}, p.id)]`;
    return sql(
      'authorizations.settled',
      `WITH payment AS (
         UPDATE payments p SET transaction_hash = ${ofPayment(transaction_hash)},
           received_base_units = ${ofPayment(base_units)}, is_unanswered = ${ofPayment(is_unanswered)}
         WHERE p.id = ANY(${payment_id}) RETURNING p.id, p.received_base_units
       ), settled AS (
         UPDATE authorizations a SET state = 'settled' WHERE a.id = ANY(${authorization_id})
         RETURNING a.payment_id, a.network, a.asset, a.payer, a.tried_at
       ), total AS (
         SELECT network, asset, payer, max(tried_at) AS tried_at, sum(received_base_units) AS base_units
         FROM settled JOIN payment ON payment.id = settled.payment_id GROUP BY network, asset, payer
       ), locked AS (
         SELECT network, asset, payer, total.tried_at, total.base_units FROM payers JOIN total USING (network, asset, payer)
         ORDER BY network, asset, payer FOR UPDATE OF payers
       )
       UPDATE payers y
       SET settles_first_since = CASE WHEN t.tried_at < y.settles_first_since THEN y.settles_first_since END,
         settled_base_units = y.settled_base_units + t.base_units
       FROM locked t WHERE y.network = t.network AND y.asset = t.asset AND y.payer = t.payer`,
    );
  },
);
/**
 * The money moved before the call was delivered, so the payment is verified like one by transfer: it can be used
 * until `retry_until`, and is refunded after that. A buyer without a key has the time of a signature.
 */
export const paid = sql(
  'payments.paid-first',
  `UPDATE payments SET state = 'verified', verified_at = now(),
     retry_until = now() + CASE WHEN keyless_offer IS NULL THEN $2 ELSE least($2, ${KEYLESS_RETRY_SECONDS}) END * interval '1 second'
   WHERE id = $1 AND state IN ('indeterminate', 'verified')`,
);
/**
 * Applies only to the last attempt, because the result of an earlier one may be outdated. What was delivered as a job,
 * long after it was offered, can be paid for again.
 */
export const refused = sql(
  'authorizations.refused',
  `WITH refused AS (
     UPDATE authorizations SET state = 'refused', reason = $2 WHERE id = $1 AND state = 'settling' AND attempts = $3
     RETURNING payment_id
   ), payment AS (
     UPDATE payments p SET state = CASE WHEN expires_at > now() OR job_seconds IS NOT NULL THEN 'pending' ELSE 'expired' END,
       expires_at = CASE WHEN job_seconds IS NULL THEN expires_at ELSE greatest(expires_at, now() + interval '15 minutes') END,
       authorization_id = NULL
     FROM refused r WHERE p.id = r.payment_id AND p.state = 'indeterminate'
   )
   SELECT payment_id FROM refused`,
);

/** Authorizations of this payer are settled before the seller is called, until a later settlement succeeds. */
export const settleNextFirst = sql(
  'payers.settle-first',
  `UPDATE payers y SET settles_first_since = clock_timestamp() FROM authorizations a
   WHERE a.id = $1 AND y.network = a.network AND y.asset = a.asset AND y.payer = a.payer`,
);

export const answered = sql(
  'payments.answered',
  'UPDATE payments SET is_unanswered = false WHERE id = $1 AND is_unanswered',
);
export const leaveUnanswered = sql('payments.unanswered', 'UPDATE payments SET is_unanswered = true WHERE id = $1');

export const toHeld = ({ payer, nonce, valid_before, payload, created_at }: AuthorizationRow): HeldAuthorization => ({
  payer,
  nonce,
  validBefore: BigInt(Math.floor(valid_before.getTime() / 1_000)),
  heldAt: created_at,
  text: payload,
});

/** The scheme by which the terms were signed. */
export const schemeOf = ({ payload }: Pick<AuthorizationRow, 'payload'>): string =>
  (JSON.parse(payload) as { accepted: { scheme: string } }).accepted.scheme;
