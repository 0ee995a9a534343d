import type { Refund, RefundQuery } from '@market/sdk';
import { Link } from 'wouter';
import { words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Filter } from '../parts/filters.js';
import { Paged } from '../parts/paged.js';
import { Empty } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Badge, Hash, Money, Time } from '../parts/values.js';
import { useAgent } from './agent.js';
import { useRefunds } from './owner-queries.js';

const SIDES: Record<Refund['role'], string> = { buyer: 'owed to it', seller: 'owed by it' };

/** Refunds that are owed to an agent or by it. */
export function Refunds() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Refunds of ${name}`);
  const [get] = useFilters();
  const refunds = useRefunds(id, {
    ...(get('role') && { role: get('role') as RefundQuery['role'] }),
    ...(get('status') && { status: get('status') as RefundQuery['status'] }),
    page: Number(get('page') || 1),
    limit: 25,
  });
  return (
    <>
      <h1>Refunds</h1>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <Filter name="role" label="Side" options={SIDES} />
        <Filter name="status" label="State" options={{ refund_due: 'refund due', refunded: 'refunded' }} />
      </form>
      <Paged query={refunds} lines={10} of={['refund', 'refunds']} empty={<Empty title="No refunds here" />}>
        {(items) => (
          <>
            <Table
              label="Refunds"
              head={['Due since', 'Listing', 'Side', 'Why', 'Amount', 'State', 'To', 'Transaction']}
              rows={items.map((refund) => [
                <Time at={refund.due_since} />,
                refund.listing.name,
                SIDES[refund.role],
                words(refund.reason),
                <Money micros={Number(refund.amount.micros)} />,
                <>
                  <Badge state={refund.status} />{' '}
                  {refund.refunded_at ? (
                    <Time at={refund.refunded_at} />
                  ) : (
                    refund.pay_by && (
                      <>
                        to be paid by <Time at={refund.pay_by} />
                      </>
                    )
                  )}
                </>,
                <>
                  {refund.wallet && <Hash of={refund.wallet} />} {refund.network}
                </>,
                refund.transaction_hash ? <Hash of={refund.transaction_hash} /> : '–',
              ])}
            />
            {items.some(({ role, status }) => role === 'seller' && status === 'refund_due') && (
              <p className="muted small">
                What it owes, the agent pays by an ordinary transfer of USDC from its payout wallet, and{' '}
                <Link href="/docs#confirmRefund">confirms</Link> with the transaction.
              </p>
            )}
          </>
        )}
      </Paged>
    </>
  );
}
