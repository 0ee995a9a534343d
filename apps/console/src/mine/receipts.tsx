import type { Receipt, ReceiptQuery } from '@market/sdk';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { apiOf, bodyOf } from '../api/client.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Json } from '../parts/code.js';
import { Filter } from '../parts/filters.js';
import { Modal } from '../parts/modal.js';
import { Paged } from '../parts/paged.js';
import { Empty, Failure, Loaded } from '../parts/states.js';
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
        <Filter name="role" label="As" options={{ buyer: 'buyer', seller: 'seller' }} />
      </form>
      <Paged query={receipts} lines={10} of={['receipt', 'receipts']} empty={<Empty title="No receipts here" />}>
        {(items) => (
          <div className="scroll" role="region" aria-label="Receipts" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th>When</th>
                  <th>Listing</th>
                  <th>As</th>
                  <th className="number">Price</th>
                  <th className="number">Fee</th>
                  <th className="number">To the seller</th>
                  <th>
                    <span className="visually-hidden">Verify</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((receipt) => (
                  <Row key={receipt.id} receipt={receipt} onVerify={() => show(receipt.id)} />
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Paged>
      {open !== '' && <Proof key={open} id={open} onClose={() => show('')} />}
    </>
  );
}

const Row = ({ receipt, onVerify }: { receipt: Receipt; onVerify: () => void }) => (
  <tr>
    <td>
      <Time at={receipt.created_at} />
    </td>
    <td className="clip">{receipt.listing.name}</td>
    <td>{receipt.recipient_type}</td>
    <td className="number">
      <Usd usd={receipt.gross_amount} />
    </td>
    <td className="number">
      <Usd usd={receipt.fee_amount} />
    </td>
    <td className="number">
      <Usd usd={receipt.net_amount} />
    </td>
    <td className="number">
      <button type="button" className="small" onClick={onVerify}>
        Verify
      </button>
    </td>
  </tr>
);

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
      <div className="row end">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Modal>
  );
}
