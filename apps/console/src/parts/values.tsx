import {
  exactTime,
  exactUsd,
  microsOfCents,
  microsOfUsd,
  shortened,
  shortTime,
  shortUsd,
  words,
} from '../lib/format.js';

/** A rounded amount; the exact one is shown on hover. */
export function Money({ micros }: { micros: number }) {
  return (
    <data className="money" value={micros} title={`${exactUsd(micros)} exactly`}>
      {shortUsd(micros)}
    </data>
  );
}
export const Usd = ({ usd }: { usd: number }) => <Money micros={microsOfUsd(usd)} />;
export const Cents = ({ cents }: { cents: number }) => <Money micros={microsOfCents(cents)} />;

/** The price of a listing. */
export const Price = ({
  listing,
}: {
  listing: { pricing_model: string; pricing_amount: number; usage?: object | null };
}) =>
  listing.pricing_model === 'free' ? (
    <span className="money">Free</span>
  ) : (
    <span>
      {listing.usage && <span className="muted">at most </span>}
      <Usd usd={listing.pricing_amount} />{' '}
      <span className="muted">
        {PER[listing.pricing_model] ?? ''}
        {listing.usage && ', charged by use'}
      </span>
    </span>
  );
const PER: Record<string, string> = {
  per_call: 'a call',
  monthly: 'a month',
  yearly: 'a year',
  usage_tiered: 'a month',
};

export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={exactTime(at)}>
    {shortTime(at)}
  </time>
);

/** A shortened address, hash or id; the whole is shown on hover. */
export const Hash = ({ of: text }: { of: string }) => (
  <code className="hash" title={text}>
    {shortened(text)}
  </code>
);

const TONES: Record<string, string> = {
  active: 'good',
  succeeded: 'good',
  completed: 'good',
  delivered: 'good',
  paid: 'good',
  verified: 'good',
  failing: 'bad',
  failed: 'bad',
  disabled: 'bad',
  seller_failed: 'bad',
  suspended: 'bad',
  revoked: 'bad',
  frozen: 'bad',
  refund_due: 'warn',
  refunded: 'warn',
  seller_refused: 'warn',
  paused: 'warn',
  pending: 'warn',
  payment_pending: 'warn',
  forwarding: 'warn',
  settling: 'warn',
};

/** A state as text and colour. */
export const Badge = ({ state }: { state: string }) => (
  <span className={`badge ${TONES[state] ?? ''}`}>{words(state)}</span>
);
