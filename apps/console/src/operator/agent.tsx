import { Link } from 'wouter';
import { useTitle } from '../lib/use-title.js';
import { Loaded } from '../parts/states.js';
import { Facts, Table } from '../parts/table.js';
import { Badge, Hash, Time } from '../parts/values.js';
import { Act } from './act.js';
import { actions, useInspectedAgent } from './operator-queries.js';
import { Reference } from './reference.js';

/** An account with its wallets and keys. */
export function AgentPage({ id }: { id: string }) {
  const agent = useInspectedAgent(id);
  useTitle(agent.data?.display_name ?? 'An account');
  return (
    <>
      <h1>{agent.data?.display_name ?? 'An account'}</h1>
      <Loaded query={agent} lines={8}>
        {(found) => (
          <div className="stack">
            <div className="row">
              <Badge state={found.is_suspended ? 'suspended' : 'active'} />
              {found.account_type === 'agent' &&
                (found.is_suspended ? (
                  <Act
                    name="Release it"
                    title={`Release “${found.display_name}”?`}
                    act={(reason) => actions.releaseAgent(id, reason)}
                  >
                    Its keys work again, and its listings come back to the market.
                  </Act>
                ) : (
                  <Act
                    name="Suspend it"
                    title={`Suspend “${found.display_name}”?`}
                    needsReason
                    act={(reason) => actions.suspendAgent(id, reason)}
                  >
                    Its keys and wallets open nothing from the next second on, and its listings leave the market.
                  </Act>
                ))}
            </div>
            <Facts
              className="facts"
              facts={{
                Id: <code>{found.id}</code>,
                Kind: found.account_type,
                Since: <Time at={found.created_at} />,
                'Suspended since': found.suspended_at && <Time at={found.suspended_at} />,
                'Claimed by': found.claimed_by && <Reference to="agents" id={found.claimed_by} />,
                'Its listings, payments and calls': <Link href={`/operator/search?q=${found.id}`}>Find them</Link>,
              }}
            />
            <section>
              <h2>Wallets</h2>
              <Table
                label="Wallets"
                head={['Address', 'Chain', 'May', 'State']}
                rows={found.wallets.map((wallet) => [
                  <Hash of={wallet.address} />,
                  wallet.chain_type,
                  wallet.capabilities.join(', '),
                  <Badge state={wallet.status} />,
                ])}
              />
            </section>
            {found.keys.length > 0 && (
              <section>
                <h2>Keys</h2>
                <Table
                  label="Keys"
                  head={['Name', 'Prefix', 'May', 'Last used', 'State']}
                  rows={found.keys.map((key) => [
                    key.name,
                    <code>{key.key_prefix}…</code>,
                    key.scopes.join(', '),
                    key.last_used_at ? <Time at={key.last_used_at} /> : 'never',
                    key.is_active ? (
                      <Act
                        name="Revoke"
                        title={`Revoke “${key.name}”?`}
                        needsReason
                        act={(reason) => actions.revokeKey(key.id, reason)}
                      >
                        Whatever uses it stops within a second. It cannot be undone.
                      </Act>
                    ) : (
                      <Badge state="revoked" />
                    ),
                  ])}
                />
              </section>
            )}
          </div>
        )}
      </Loaded>
    </>
  );
}
