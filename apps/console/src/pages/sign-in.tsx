import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Challenge } from '@market/sdk';
import { api, bodyOf } from '../api/client.js';
import { useIsSandbox, useOidcIssuer } from '../api/public-queries.js';
import { goToOidcProvider, signIn, useMe } from '../api/session.js';
import { useTitle } from '../lib/use-title.js';
import { Failure } from '../parts/states.js';
import { Hash } from '../parts/values.js';
import type { ConnectedWallet, WalletChoice } from '../wallets/connected-wallet.js';
import { testWallet } from '../wallets/test-wallet.js';
import { useWallets } from '../wallets/use-wallets.js';
import { WalletList } from '../wallets/wallet-list.js';

/** Signs in by a wallet or the OpenID provider. Who is signed in adds one more way. */
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
  const issuer = useOidcIssuer();
  const leave = useMutation({ mutationFn: goToOidcProvider });
  return (
    <div className="narrow-page stack">
      <h1>{me ? 'Signed in' : 'Sign in'}</h1>
      {me && (
        <>
          <p>
            As {me.wallet_address === null ? me.display_name : <Hash of={me.wallet_address} />}.{' '}
            <Link href="/mine">To your agents</Link>
          </p>
          <h2>Add another way to sign in</h2>
        </>
      )}
      <p className="muted">A wallet signs a message and moves no money.</p>
      {issuer !== null && !asked && (
        <div className="stack tight">
          <button type="button" className="primary" disabled={leave.isPending} onClick={() => leave.mutate()}>
            {me ? 'Add a login at' : 'Sign in with'} {new URL(issuer).host}
          </button>
          {leave.isError && <Failure error={leave.error} />}
        </div>
      )}
      {asked ? (
        <Sign {...asked} link={Boolean(me)} onBack={() => setAsked(undefined)} />
      ) : (
        <>
          {wallets.length > 0 && <WalletList wallets={wallets} isBusy={connect.isPending} choose={connect.mutate} />}
          {wallets.length === 0 && (
            <div className="card stack tight">
              <p>No wallet was found in this browser.</p>
              <p className="muted small">
                A wallet is an extension of the browser, or a browser of its own, that keeps your keys: for Ethereum and
                its chains{' '}
                <a href="https://ethereum.org/wallets/find-wallet/" target="_blank" rel="noreferrer">
                  ethereum.org
                </a>{' '}
                compares them, for Solana{' '}
                <a href="https://solana.com/wallets" target="_blank" rel="noreferrer">
                  solana.com
                </a>
                . One that you install now is listed here after a reload.
              </p>
            </div>
          )}
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

function Sign({
  wallet,
  challenge,
  link,
  onBack,
}: {
  wallet: ConnectedWallet;
  challenge: Challenge;
  link: boolean;
  onBack: () => void;
}) {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const sign = useMutation({
    mutationFn: async () => {
      const signature = await wallet.sign(challenge.message);
      await signIn(queries, { wallet_address: wallet.address, signature, nonce: challenge.nonce }, link);
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
          {sign.isPending ? 'Waiting for the signature…' : link ? 'Add this wallet' : 'Sign in'}
        </button>
        <button type="button" onClick={onBack}>
          Back
        </button>
      </div>
      {sign.isError && <Failure error={sign.error} />}
    </div>
  );
}
