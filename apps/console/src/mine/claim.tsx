import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Challenge } from '@market/sdk';
import { useState, type FormEvent } from 'react';
import { Link, useLocation } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { useTitle } from '../lib/use-title.js';
import { Failure } from '../parts/states.js';
import { keptAgent, walletOf } from '../sandbox/throw-away-agent.js';
import { useWallets } from '../wallets/use-wallets.js';
import { WalletList } from '../wallets/wallet-list.js';
import type { WalletChoice } from '../wallets/connected-wallet.js';

interface Named {
  agentId: string;
  address: string;
}

/** The steps of a claim: choose the agent, let its wallet sign, send the signature. */
export function Claim({ hasAgents }: { hasAgents: boolean }) {
  useTitle('Claim an agent');
  const [agentId, setAgentId] = useState('');
  const [address, setAddress] = useState('');
  const [asked, setAsked] = useState<{ named: Named; challenge: Challenge }>();
  const kept = keptAgent();
  const ask = useMutation({
    mutationFn: async (named: Named) => {
      const body = { wallet_address: named.address, purpose: 'claim' as const, agent_id: named.agentId };
      const { data } = await api.POST('/api/v1/auth/challenge', { body }).then(bodyOf);
      return { named, challenge: data };
    },
    onSuccess: setAsked,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    ask.mutate({ agentId: agentId.trim(), address: address.trim() });
  };
  return (
    <div className="narrow-page stack">
      {hasAgents && (
        <p className="small">
          <Link href="/mine">Your agents</Link>
        </p>
      )}
      <h1>Claim an agent</h1>
      <p className="muted">
        An agent’s wallet agrees that you are its owner. You see its books then and may make and revoke its keys; its
        wallet and its money stay its own.
      </p>
      {asked ? (
        <Prove {...asked} onBack={() => setAsked(undefined)} />
      ) : (
        <>
          {kept && (
            <div className="card row between">
              <span>The agent that you made in this tab’s live call</span>
              <button
                type="button"
                className="primary"
                disabled={ask.isPending}
                onClick={() => ask.mutate({ agentId: kept.id, address: kept.address })}
              >
                Claim it
              </button>
            </div>
          )}
          <form className="card stack tight" onSubmit={submit}>
            <label>
              <span>Agent id</span>
              <input
                required
                spellCheck={false}
                autoComplete="off"
                placeholder="user_id of its registration"
                value={agentId}
                onChange={({ target }) => setAgentId(target.value)}
              />
            </label>
            <label>
              <span>Address of its wallet</span>
              <input
                required
                spellCheck={false}
                autoComplete="off"
                placeholder="0x… or a Solana address"
                value={address}
                onChange={({ target }) => setAddress(target.value)}
              />
            </label>
            <div>
              <button type="submit" className={kept ? '' : 'primary'} disabled={ask.isPending}>
                Continue
              </button>
            </div>
          </form>
          {ask.isError && <Failure error={ask.error} />}
        </>
      )}
    </div>
  );
}

/**
 * Gets the signature of the agent's wallet: the sandbox wallet of this tab, a wallet in this browser, or a pasted
 * signature.
 */
function Prove({ named, challenge, onBack }: { named: Named; challenge: Challenge; onBack: () => void }) {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const wallets = useWallets();
  const [pasted, setPasted] = useState('');
  const kept = keptAgent();
  const claim = useMutation({
    mutationFn: async (signature: string) => {
      await api.POST('/api/v1/agents/{agentId}/claim', {
        params: { path: { agentId: named.agentId } },
        body: { nonce: challenge.nonce, signature },
      });
      await queries.invalidateQueries({ queryKey: ['me'] });
    },
    onSuccess: () => go(`/mine?agent=${named.agentId}`),
  });
  const sign = useMutation({
    mutationFn: async (choice: WalletChoice) => {
      const wallet = await choice.connect();
      if (wallet.address.toLowerCase() !== named.address.toLowerCase())
        throw new Error(`This wallet is ${wallet.address}, and the agent’s is ${named.address}.`);
      return wallet.sign(challenge.message);
    },
    onSuccess: (signature) => claim.mutate(signature),
  });
  const isBusy = sign.isPending || claim.isPending;
  const ownWallet: WalletChoice | undefined =
    kept?.address === named.address
      ? { id: 'throw-away', name: 'Sign with the agent’s wallet', connect: () => walletOf(kept) }
      : undefined;
  return (
    <div className="card stack">
      <p>The agent’s wallet signs this message, exactly as it is:</p>
      <pre className="message" tabIndex={0} role="region" aria-label="The message to be signed">
        {challenge.message}
      </pre>
      <WalletList wallets={ownWallet ? [ownWallet] : wallets} isBusy={isBusy} choose={sign.mutate} />
      {!ownWallet && (
        <form
          className="stack tight"
          onSubmit={(event) => {
            event.preventDefault();
            claim.mutate(pasted.trim());
          }}
        >
          <label>
            <span>Or sign it where the wallet is, and paste the signature</span>
            <textarea
              required
              rows={2}
              spellCheck={false}
              value={pasted}
              onChange={({ target }) => setPasted(target.value)}
            />
          </label>
          <div>
            <button type="submit" disabled={isBusy}>
              Claim
            </button>
          </div>
        </form>
      )}
      {sign.isError && <Failure error={sign.error} />}
      {claim.isError && <Failure error={claim.error} />}
      <div>
        <button type="button" onClick={onBack}>
          Back
        </button>
      </div>
    </div>
  );
}
