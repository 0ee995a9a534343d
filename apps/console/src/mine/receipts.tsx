import type { ReceiptQuery } from '@market/sdk';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { apiOf, bodyOf } from '../api/client.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Json } from '../parts/code.js';
import { Filter } from '../parts/filters.js';
import { CloseButton, Modal } from '../parts/modal.js';
import { Paged } from '../parts/paged.js';
import { Empty, Failure, Loaded } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Badge, Hash, Time, Usd } from '../parts/values.js';
import { useAgent } from './agent.js';
import { useReceipts } from './owner-queries.js';

export function Receipts() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Receipts of ${name}`);
  const [get, set] = useFilters();
  const receipts = useReceipts(id, {
    ...(get('role') && { role: get('role') as ReceiptQuery['role'] }),
    page: Number(get('page') || 1),
    limit: 25,
  });
  const open = get('receipt');
  const show = (receiptId: string): void => set({ receipt: receiptId }, { keepPage: true });
  return (
    <>
      <h1>Receipts</h1>
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <Filter name="role" label="Role" options={{ buyer: 'buyer', seller: 'seller' }} />
      </form>
      <Paged query={receipts} lines={10} of={['receipt', 'receipts']} empty={<Empty title="No receipts here" />}>
        {(items) => (
          <Table
            label="Receipts"
            head={['When', 'Listing', 'Role', 'Price', 'Fee', 'To the seller', 'Verify']}
            numbers={['Price', 'Fee', 'To the seller']}
            hasActions
            rows={items.map((receipt) => [
              <Time at={receipt.created_at} />,
              receipt.listing.name,
              receipt.recipient_type,
              <Usd usd={receipt.gross_amount} />,
              <Usd usd={receipt.fee_amount} />,
              <Usd usd={receipt.net_amount} />,
              <button type="button" className="small" onClick={() => show(receipt.id)}>
                Verify
              </button>,
            ])}
          />
        )}
      </Paged>
      {open !== '' && <Proof key={open} id={open} onClose={() => show('')} />}
    </>
  );
}

/** A receipt with its signature, which is verified in this browser. */
function Proof({ id, onClose }: { id: string; onClose: () => void }) {
  const { agent_id: agentId } = useAgent();
  const proof = useQuery({
    queryKey: ['agent', agentId, 'proof', id],
    queryFn: ({ signal }) =>
      apiOf(agentId)
        .GET('/api/v1/receipts/{receiptId}/proof', { params: { path: { receiptId: id } }, signal })
        .then(bodyOf),
  });
  const jws = proof.data?.data.jws;
  const check = useMutation({
    mutationFn: async (text: string) => (await import('../lib/verify-receipt.js')).verifyReceipt(text),
  });
  const { mutate } = check;
  useEffect(() => {
    if (jws !== undefined) mutate(jws);
  }, [jws, mutate]);
  return (
    <Modal title="Receipt" onClose={onClose}>
      <Loaded query={proof} lines={8}>
        {({ data }) => (
          <div className="stack tight">
            {check.data && (
              <p role="status">
                <Badge state="verified" /> This browser checked the signature with the marketplace’s published key{' '}
                <Hash of={check.data.kid} />.
              </p>
            )}
            {check.isError && <Failure error={check.error} />}
            {/* Shows the signed claims, not those that were sent beside the signature. */}
            <Json value={check.data?.claims ?? data.claims} label="What was signed" />
          </div>
        )}
      </Loaded>
      <CloseButton onClose={onClose} />
    </Modal>
  );
}
