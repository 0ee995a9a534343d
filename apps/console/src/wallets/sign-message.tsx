import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Failure } from '../parts/states.js';
import { keptAgent, walletOf } from '../sandbox/throw-away-agent.js';
import type { WalletChoice } from './connected-wallet.js';
import { useWallets } from './use-wallets.js';
import { WalletList } from './wallet-list.js';

/**
 * Gets the signature of a wallet: the sandbox wallet of this tab or a wallet in this browser. One that is neither here
 * nor in a terminal, such as a safe, signs elsewhere, and its signature is pasted.
 */
export function SignMessage({
  address,
  message,
  action,
  isBusy,
  onSigned,
}: {
  address: string;
  message: string;
  /** The name of the button that sends a pasted signature. */
  action: string;
  isBusy: boolean;
  onSigned: (signature: string) => void;
}) {
  const wallets = useWallets();
  const [pasted, setPasted] = useState('');
  const kept = keptAgent();
  const sign = useMutation({
    mutationFn: async (choice: WalletChoice) => {
      const wallet = await choice.connect();
      if (wallet.address.toLowerCase() !== address.toLowerCase())
        throw new Error(`This wallet is ${wallet.address}, and the agent’s is ${address}.`);
      return wallet.sign(message);
    },
    onSuccess: onSigned,
  });
  const ownWallet: WalletChoice | undefined =
    kept?.address === address
      ? { id: 'throw-away', name: 'Sign with the agent’s wallet', connect: () => walletOf(kept) }
      : undefined;
  return (
    <>
      <pre className="message" tabIndex={0} role="region" aria-label="The message to be signed">
        {message}
      </pre>
      <WalletList wallets={ownWallet ? [ownWallet] : wallets} isBusy={isBusy || sign.isPending} choose={sign.mutate} />
      {!ownWallet && wallets.length === 0 && <p className="muted">No wallet was found in this browser.</p>}
      {!ownWallet && (
        <details>
          <summary>The wallet is somewhere else</summary>
          <form
            className="stack tight"
            onSubmit={(event) => {
              event.preventDefault();
              onSigned(pasted.trim());
            }}
          >
            <label>
              <span>Its signature of this message</span>
              <textarea
                required
                rows={2}
                spellCheck={false}
                value={pasted}
                onChange={({ target }) => setPasted(target.value)}
              />
            </label>
            <div>
              <button type="submit" disabled={isBusy || sign.isPending}>
                {action}
              </button>
            </div>
          </form>
        </details>
      )}
      {sign.isError && <Failure error={sign.error} />}
    </>
  );
}
