import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Challenge } from '@market/sdk';
import { api, bodyOf } from '../api/client.js';
import { useIsSandbox } from '../api/public-queries.js';
import { signIn, useMe } from '../api/session.js';
import { useTitle } from '../lib/use-title.js';
import { Failure } from '../parts/states.js';
import { Hash } from '../parts/values.js';
import type { ConnectedWallet, WalletChoice } from '../wallets/connected-wallet.js';
import { testWallet } from '../wallets/test-wallet.js';
import { useWallets } from '../wallets/use-wallets.js';
import { WalletList } from '../wallets/wallet-list.js';

/** Connects a wallet, shows the message, and lets the wallet sign it. */
export default function SignIn() {
  useTitle('Sign in');
  const { data: me } = useMe();
  const isSandbox = useIsSandbox();
  const wallets = useWallets();
  const [asked, setAsked] = useState<{ wallet: ConnectedWallet; challenge: Challenge }>();
  const connect = useMutation({
    mutationFn: async (choice: WalletChoice) => {
      const wallet = await choice.connect();
      const body = { wallet_address: wallet.address, purpose: 'session' as const };
      const { data } = await api.POST('/api/v1/auth/challenge', { body }).then(bodyOf);
      return { wallet, challenge: data };
    },
    onSuccess: setAsked,
  });
  if (me)
    return (
      <>
        <h1>Signed in</h1>
        <p>
          As <Hash of={me.wallet_address} />. <Link href="/mine">To your agents</Link>
        </p>
      </>
    );
  return (
    <div className="narrow-page stack">
      <h1>Sign in</h1>
      <p className="muted">A person signs in with a wallet. It signs a message and moves no money.</p>
      {asked ? (
        <Sign {...asked} onBack={() => setAsked(undefined)} />
      ) : (
        <>
          {wallets.length > 0 && <WalletList wallets={wallets} isBusy={connect.isPending} choose={connect.mutate} />}
          {wallets.length === 0 && <p>No wallet was found in this browser.</p>}
          {isSandbox && (
            <div className="card stack tight">
              <WalletList wallets={[testWallet]} isBusy={connect.isPending} choose={connect.mutate} />
              <p className="muted small">
                Made in this browser for looking around: its key lies in this tab’s storage and is gone with the tab.
                Only the sandbox offers it, where money is play money.
              </p>
            </div>
          )}
          {connect.isError && <Failure error={connect.error} />}
        </>
      )}
    </div>
  );
}

function Sign({ wallet, challenge, onBack }: { wallet: ConnectedWallet; challenge: Challenge; onBack: () => void }) {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const sign = useMutation({
    mutationFn: async () => {
      const signature = await wallet.sign(challenge.message);
      await signIn(queries, { wallet_address: wallet.address, signature, nonce: challenge.nonce });
    },
    onSuccess: () => go('/mine'),
  });
  return (
    <div className="card stack">
      <p>
        <Hash of={wallet.address} /> will sign this message, exactly as it is:
      </p>
      <pre className="message" tabIndex={0} role="region" aria-label="The message to be signed">
        {challenge.message}
      </pre>
      <div className="row">
        <button type="button" className="primary" disabled={sign.isPending} onClick={() => sign.mutate()}>
          {sign.isPending ? 'Waiting for the signature…' : 'Sign in'}
        </button>
        <button type="button" onClick={onBack}>
          Back
        </button>
      </div>
      {sign.isError && <Failure error={sign.error} />}
    </div>
  );
}
