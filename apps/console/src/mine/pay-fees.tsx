import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Data, Offer } from '@market/sdk';
import { ApiError, bodyOf, withKey } from '../api/client.js';
import { useIsSandbox } from '../api/public-queries.js';
import { exactUsd } from '../lib/format.js';
import { CloseButton, Modal } from '../parts/modal.js';
import { Failure } from '../parts/states.js';
import { Hash } from '../parts/values.js';
import type { WalletChoice } from '../wallets/connected-wallet.js';
import { testWallet } from '../wallets/test-wallet.js';
import { useWallets } from '../wallets/use-wallets.js';
import { WalletList } from '../wallets/wallet-list.js';
import { useAgent } from './agent.js';

type Paid = Data<'payFees'>;

/** Pays all fees that are due, by a signature of any wallet in this browser that holds the money. */
export function PayFees({ onClose }: { onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const isSandbox = useIsSandbox();
  const found = useWallets().filter(({ canPay }) => canPay);
  const wallets = isSandbox ? [...found, testWallet] : found;
  const pay = useMutation({
    mutationFn: (choice: WalletChoice) => payWith(id, choice),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['agent', id] }),
  });
  return (
    <Modal title="Pay the fees" onClose={onClose}>
      {pay.data ? (
        <p role="status">
          {exactUsd(Number(pay.data.amount.micros))} were paid by <Hash of={pay.data.payer} />, in the transaction{' '}
          <Hash of={pay.data.transaction_hash} />.
        </p>
      ) : (
        <>
          <p>A wallet signs a transfer of USDC. It needs no gas, and need not be a wallet of the agent.</p>
          {wallets.length === 0 && <p>No wallet that can pay was found in this browser.</p>}
          <WalletList wallets={wallets} isBusy={pay.isPending} choose={pay.mutate} />
          {pay.isPending && <p role="status">Waiting for the signature and its settlement…</p>}
          {pay.isError && <Failure error={pay.error} />}
        </>
      )}
      <CloseButton onClose={onClose} />
    </Modal>
  );
}

async function payWith(agentId: string, choice: WalletChoice): Promise<Paid> {
  const { x402Payer } = await import('../wallets/signing.js');
  const { address, signTypedData } = await choice.connect();
  if (!signTypedData) throw new Error(`${choice.name} cannot sign payments.`);
  return withKey(agentId, 'pay fees', 'write', async (client) => {
    const send = (headers: Record<string, string> = {}) =>
      client.POST('/api/v1/fees/payments', { headers, body: {} }).then(bodyOf);
    const offer = await send().then(() => undefined, offerOf);
    if (!offer) throw new Error('The marketplace did not say what to sign.');
    // Of each of these chains the payer knows which token is USDC, and signs for no other.
    const chains = Object.fromEntries(offer.x402!.accepts.map(({ network }) => [network, {}]));
    const { headers } = await x402Payer({ address: address as `0x${string}`, signTypedData }, chains).prepare(offer);
    const { data } = await send(headers);
    if (!('payer' in data)) throw new Error('Its outcome is not known yet. No fee is paid twice: try again.');
    return data;
  });
}

/** What a 402 asks to be signed. @throws any other error. */
function offerOf(error: unknown): Offer | undefined {
  if (!(error instanceof ApiError && error.status === 402)) throw error;
  const { x402 } = error.data as Data<'payFees', 402>;
  const id = x402.accepts[0]?.extra?.relayRequestId;
  return typeof id === 'string' ? ({ relay_request_id: id, x402 } as unknown as Offer) : undefined;
}
