import type { GatewayRequestDetail } from '@market/sdk';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { milliseconds, percent, words } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Attempts } from '../parts/attempts.js';
import { Loaded } from '../parts/states.js';
import { Facts } from '../parts/table.js';
import { Badge, Cents, Hash, Time } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { Answer } from './answer.js';
import { useCall, useLedger } from './owner-queries.js';

/** One call from its quote to its receipt. */
export function CallPage({ id }: { id: string }) {
  const { agent_id: agentId } = useAgent();
  useTitle('A call');
  const link = useAgentLink();
  const call = useCall(agentId, id);
  return (
    <>
      <p className="small">
        <Link href={link('/mine/calls')}>All calls</Link>
      </p>
      <h1>A call{call.data && ` of ${call.data.listing.name}`}</h1>
      <Loaded query={call} lines={8}>
        {(found) => (
          <>
            <p>
              <Badge state={found.status} /> <span className="muted">as {found.role}</span>
            </p>
            <Answer call={found} />
            <ol className="steps">
              <Asked call={found} />
              <Paid call={found} />
              <Answered call={found} />
              <Booked call={found} />
            </ol>
          </>
        )}
      </Loaded>
    </>
  );
}

interface Told {
  call: GatewayRequestDetail;
}

const Asked = ({ call }: Told) => (
  <Moment title="Asked" isDone>
    <Time at={call.created_at} />: {call.buyer.display_name} called{' '}
    <Link href={`/listings/${call.listing.slug}`}>{call.listing.name}</Link> of {call.seller.display_name}.
    <Facts
      facts={{
        'Request id': <Hash of={call.request_id} />,
        'Digest of the body': call.request_digest && <Hash of={call.request_digest} />,
      }}
    />
  </Moment>
);

const Paid = ({ call: { payment, status } }: Told) => {
  if (!payment)
    return (
      <Moment title="Paid" isDone={status === 'succeeded'}>
        {status === 'succeeded' ? 'Nothing was to be paid.' : 'Nothing was paid.'}
      </Moment>
    );
  const isPaid = status !== 'payment_required' && status !== 'payment_pending' && status !== 'expired';
  return (
    <Moment title="Paid" isDone={isPaid}>
      {isPaid ? 'Paid' : 'Offered'} by {words(payment.provider)} ({payment.scheme}, {payment.network}).
      <Facts
        facts={{
          'Relay request id': payment.relay_request_id && <Hash of={payment.relay_request_id} />,
          Transaction: payment.transaction_hash && <Hash of={payment.transaction_hash} />,
        }}
      />
    </Moment>
  );
};

const Answered = ({ call }: Told) => (
  <Moment title="Answered" isDone={call.seller_status_code !== null} isBad={call.error_code !== null}>
    {call.seller_status_code === null
      ? 'The seller has not answered.'
      : `The seller answered ${call.seller_status_code}`}
    {call.latency_ms !== null && ` after ${milliseconds(call.latency_ms)}`}
    {call.error_code !== null && `: ${words(call.error_code)}`}
    {call.attempts.length > 1 && <Attempts of={call.attempts} />}
    <Facts facts={{ 'Digest of the answer': call.response_digest && <Hash of={call.response_digest} /> }} />
  </Moment>
);

function Booked({ call }: Told) {
  const { agent_id: agentId } = useAgent();
  const link = useAgentLink();
  // Finds the receipt by the call's ledger entry, which is of the same listing and about the time of completion.
  const entries = useLedger(agentId, { listing_id: call.listing.id, from: call.created_at, limit: 100 });
  const receiptId = entries.data?.data.find(({ reference }) => reference.gateway_request_id === call.id)?.reference
    .receipt_id;
  const { charged_amount, fees, completed_at } = call;
  return (
    <Moment title="Booked" isDone={completed_at !== null}>
      {completed_at === null ? (
        'Nothing is booked.'
      ) : (
        <>
          <Time at={completed_at} />: {call.billable ? 'charged' : 'not charged,'}{' '}
          <Cents cents={charged_amount.amount_cents} />, of which <Cents cents={fees.fee_amount_cents} /> (
          {percent(fees.fee_rate)}) are the fee and <Cents cents={fees.seller_receives_cents} /> the seller’s.
        </>
      )}
      {receiptId && (
        <p>
          <Link href={`${link('/mine/receipts')}&receipt=${receiptId}`}>Its receipt</Link>
        </p>
      )}
    </Moment>
  );
}

const Moment = ({
  title,
  isDone,
  isBad = false,
  children,
}: {
  title: string;
  isDone: boolean;
  isBad?: boolean;
  children: ReactNode;
}) => (
  <li className={isBad ? 'failed' : isDone ? 'done' : 'waiting'}>
    <h2>{title}</h2>
    <div>{children}</div>
  </li>
);
