import type { Refund, RefundQuery } from '@market/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { withKey } from '../api/client.js';
import { exactUsd, networkName, words } from '../lib/format.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Code } from '../parts/code.js';
import { Filter } from '../parts/filters.js';
import { Form, TextField } from '../parts/form.js';
import { Modal, SubmitOrCancel } from '../parts/modal.js';
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
  const [paid, setPaid] = useState<Refund>();
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
      <Paged
        query={refunds}
        lines={10}
        of={['refund', 'refunds']}
        empty={
          <Empty title="No refunds here">
            <p>A call that was paid and not delivered is owed back, and shown here until it is.</p>
          </Empty>
        }
      >
        {(items) => (
          <Table
            label="Refunds"
            head={['Due since', 'Listing', 'Side', 'Why', 'Amount', 'State', 'To', 'Transaction', 'Pay']}
            numbers={['Amount']}
            hasActions
            rows={items.map((refund) => [
              <Time at={refund.due_since} />,
              refund.listing.name,
              SIDES[refund.role],
              words(refund.reason),
              <Money micros={Number(refund.amount.micros)} />,
              <State refund={refund} />,
              <>
                {refund.wallet && <Hash of={refund.wallet} />} {refund.network && networkName(refund.network)}
              </>,
              refund.transaction_hash ? <Hash of={refund.transaction_hash} /> : '–',
              refund.role === 'seller' && refund.owed_by === 'seller' && refund.status === 'refund_due' && (
                <button type="button" className="small" onClick={() => setPaid(refund)}>
                  Pay it back
                </button>
              ),
            ])}
          />
        )}
      </Paged>
      {paid && <PayBack refund={paid} onClose={() => setPaid(undefined)} />}
    </>
  );
}

const State = ({ refund: { status, refunded_at, pay_by } }: { refund: Refund }) => (
  <span>
    <Badge state={status} />{' '}
    {refunded_at ? (
      <Time at={refunded_at} />
    ) : (
      pay_by && (
        <>
          to be paid by <Time at={pay_by} />
        </>
      )
    )}
  </span>
);

/** An ordinary transfer pays a refund; its transaction, which the marketplace looks up, proves it. */
function PayBack({ refund, onClose }: { refund: Refund; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const [transaction, setTransaction] = useState('');
  const confirm = useMutation({
    mutationFn: () =>
      withKey(id, 'confirm a refund', 'write', (client) =>
        client.POST('/api/v1/refunds/{refundId}/confirm', {
          params: { path: { refundId: refund.id } },
          body: { transaction: transaction.trim() },
        }),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['agent', id] });
      onClose();
    },
  });
  const amount = exactUsd(Number(refund.amount.micros)).replace('$', '');
  return (
    <Modal title={`Pay ${amount} USDC back`} onClose={onClose}>
      <p>
        Send exactly {amount} USDC{refund.network && ` on ${networkName(refund.network)}`} from the agent’s payout
        wallet to:
      </p>
      {refund.wallet ? (
        <Code text={refund.wallet} label="The wallet of the buyer" />
      ) : (
        <p className="muted">The buyer has no wallet there yet. The refund is not overdue until it has one.</p>
      )}
      <Form error={confirm.error} onSubmit={() => confirm.mutate()}>
        <TextField
          name="transaction"
          label="Transaction of the transfer"
          placeholder="0x… or a signature of Solana"
          value={transaction}
          onChange={setTransaction}
        />
        <SubmitOrCancel action="Confirm" isDisabled={confirm.isPending} onClose={onClose} />
      </Form>
    </Modal>
  );
}
