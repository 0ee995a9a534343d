import { useMutation } from '@tanstack/react-query';
import type { ClaimCode } from '@market/sdk';
import { useEffect, useState, type FormEvent } from 'react';
import { Link, useLocation } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { useMe } from '../api/session.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Code } from '../parts/code.js';
import { Failure } from '../parts/states.js';
import { keptAgent, walletOf } from '../sandbox/throw-away-agent.js';
import type { WalletChoice } from '../wallets/connected-wallet.js';
import { useWallets } from '../wallets/use-wallets.js';
import { WalletList } from '../wallets/wallet-list.js';

/** The steps of a claim: name the agent, and let its wallet agree, in a terminal or in this browser. */
export function Claim({ hasAgents }: { hasAgents: boolean }) {
  useTitle('Claim an agent');
  const [get] = useFilters();
  const [agentId, setAgentId] = useState(get('agent'));
  const kept = keptAgent();
  const begin = useMutation({
    mutationFn: async (id: string) =>
      (await api.POST('/api/v1/agents/{agentId}/claim-code', { params: { path: { agentId: id } } }).then(bodyOf)).data,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    begin.mutate(agentId.trim());
  };
  return (
    <div className="narrow-page stack">
      {hasAgents && (
        <p className="small">
          <Link href="/mine">My agents</Link>
        </p>
      )}
      <h1>Claim an agent</h1>
      <p className="muted">
        An agent’s wallet agrees that you are its owner. You see its books then and may make and revoke its keys; its
        wallet and its money stay its own.
      </p>
      {begin.data ? (
        <Agreement {...begin.data} again={() => begin.mutate(begin.data.agent.id)} onBack={begin.reset} />
      ) : (
        <>
          {kept && (
            <div className="card row between">
              <span>The agent that you made in this tab’s live call</span>
              <button
                type="button"
                className="primary"
                disabled={begin.isPending}
                onClick={() => begin.mutate(kept.id)}
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
                placeholder="019a9f4b-84aa-72f5-…"
                value={agentId}
                onChange={({ target }) => setAgentId(target.value)}
              />
              <span className="muted small">
                <code>market claim</code> prints a link with it; in code it is the <code>user_id</code> of the
                registration.
              </span>
            </label>
            <div>
              <button type="submit" className={kept ? '' : 'primary'} disabled={begin.isPending}>
                Continue
              </button>
            </div>
          </form>
        </>
      )}
      {begin.isError && <Failure error={begin.error} />}
    </div>
  );
}

const LOOK_EVERY_MS = 2_000;

/** Waits until the agent has agreed, wherever it does. */
function Agreement({ code, expires_in, agent, again, onBack }: ClaimCode & { again: () => void; onBack: () => void }) {
  const [, go] = useLocation();
  const { data: me } = useMe(LOOK_EVERY_MS);
  const [expiredCode, setExpiredCode] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setExpiredCode(code), expires_in * 1_000);
    return () => clearTimeout(timer);
  }, [code, expires_in]);
  const isClaimed = me?.agents?.some(({ agent_id }) => agent_id === agent.id) ?? false;
  useEffect(() => {
    if (isClaimed) go(`/mine?agent=${agent.id}`);
  }, [isClaimed]);
  return (
    <>
      <div className="card">
        <p>
          You claim{' '}
          <a href={`/agents/${agent.id}`} target="_blank" rel="noreferrer">
            <strong>{agent.display_name ?? 'an agent without a name'}</strong>
          </a>
          , <code>{agent.id}</code>
        </p>
        <p className="muted small">
          You are the human <code>{me?.id}</code> in the message that its wallet signs.
        </p>
      </div>
      <section className="card stack tight" aria-labelledby="in-a-terminal">
        <h2 id="in-a-terminal">In a terminal, where its wallet is</h2>
        {code === expiredCode ? (
          <p role="status">The code has expired.</p>
        ) : (
          <>
            <Code text={`market claim ${code}`} label="The command that claims the agent" />
            <p className="muted small" role="status">
              Good once, for {Math.round(expires_in / 60)} minutes and for this agent only. This page goes on by itself.
            </p>
          </>
        )}
        <div>
          <button type="button" className="small" onClick={again}>
            New code
          </button>
        </div>
      </section>
      <InThisBrowser agentId={agent.id} />
      <div>
        <button type="button" onClick={onBack}>
          Another agent
        </button>
      </div>
    </>
  );
}

/** The agent's wallet may be in this browser: that of this tab's live call, or one that announces itself. */
function InThisBrowser({ agentId }: { agentId: string }) {
  const wallets = useWallets();
  const kept = keptAgent();
  const own: WalletChoice[] =
    kept?.id === agentId
      ? [{ id: 'throw-away', name: 'Sign with the agent’s wallet', connect: () => walletOf(kept) }]
      : wallets;
  const claim = useMutation({
    mutationFn: async (choice: WalletChoice) => {
      const wallet = await choice.connect();
      const asked = { wallet_address: wallet.address, purpose: 'claim' as const, agent_id: agentId };
      const { data } = await api.POST('/api/v1/auth/challenge', { body: asked }).then(bodyOf);
      const signature = await wallet.sign(data.message);
      await api.POST('/api/v1/agents/{agentId}/claim', {
        params: { path: { agentId } },
        body: { nonce: data.nonce, signature },
      });
    },
  });
  return (
    <section className="card stack tight" aria-labelledby="in-this-browser">
      <h2 id="in-this-browser">Or with its wallet in this browser</h2>
      {own.length === 0 ? (
        <p className="muted">No wallet was found in this browser.</p>
      ) : (
        <WalletList wallets={own} isBusy={claim.isPending || claim.isSuccess} choose={claim.mutate} />
      )}
      {claim.isError && <Failure error={claim.error} />}
    </section>
  );
}
