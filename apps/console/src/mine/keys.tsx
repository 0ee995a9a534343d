import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ApiKey, CreatedApiKey, Scope } from '@market/sdk';
import { useState, type FormEvent } from 'react';
import { apiOf, bodyOf } from '../api/client.js';
import { useTitle } from '../lib/use-title.js';
import { Confirm, Modal } from '../parts/modal.js';
import { ShownOnce } from '../parts/shown-once.js';
import { Empty, Failure, Loaded } from '../parts/states.js';
import { Badge, Time } from '../parts/values.js';
import { useAgent } from './agent.js';
import { BudgetOfAgent, BudgetOfKey, Limits } from './budget.js';
import { keysKey, useKeys } from './owner-queries.js';

const SCOPES: Record<Scope, string> = {
  read: 'read the books',
  write: 'change listings and keys',
  subscribe: 'buy',
};

export function Keys() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Keys of ${name}`);
  const keys = useKeys(id);
  const [isMaking, setIsMaking] = useState(false);
  const [revoked, setRevoked] = useState<ApiKey>();
  const [bounded, setBounded] = useState<ApiKey>();
  return (
    <>
      <div className="row between">
        <h1>Keys</h1>
        <button type="button" className="primary" onClick={() => setIsMaking(true)}>
          Make a key
        </button>
      </div>
      <div className="stack">
        <Loaded query={keys} lines={6}>
          {(data) =>
            data.length === 0 ? (
              <Empty title="No keys">An agent without a key can neither buy nor sell.</Empty>
            ) : (
              <div className="scroll" role="region" aria-label="Keys" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th>May</th>
                      <th>Last used</th>
                      <th>Ends</th>
                      <th>May spend</th>
                      <th>
                        <span className="visually-hidden">Change</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.map((key) => (
                      <tr key={key.id} className={key.is_active ? undefined : 'muted'}>
                        <td className="clip">
                          {key.name}
                          <br />
                          <code className="muted">{key.key_prefix}…</code>
                        </td>
                        <td>{key.scopes.join(', ')}</td>
                        <td>{key.last_used_at ? <Time at={key.last_used_at} /> : 'never'}</td>
                        <td>{key.expires_at ? <Time at={key.expires_at} /> : 'never'}</td>
                        <td>
                          <Limits budget={key.budget} />
                        </td>
                        <td className="number">
                          {key.is_active ? (
                            <>
                              <button type="button" className="small" onClick={() => setBounded(key)}>
                                Budget<span className="visually-hidden"> of {key.name}</span>
                              </button>{' '}
                              <button type="button" className="small" onClick={() => setRevoked(key)}>
                                Revoke<span className="visually-hidden"> {key.name}</span>
                              </button>
                            </>
                          ) : (
                            <Badge state="revoked" />
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )
          }
        </Loaded>
        <BudgetOfAgent />
      </div>
      {bounded && <BudgetOfKey apiKey={bounded} onClose={() => setBounded(undefined)} />}
      {isMaking && <MakeKey onClose={() => setIsMaking(false)} />}
      {revoked && <RevokeKey apiKey={revoked} onClose={() => setRevoked(undefined)} />}
    </>
  );
}

function MakeKey({ onClose }: { onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<Scope[]>(['read', 'subscribe']);
  const make = useMutation({
    mutationFn: async () => (await apiOf(id).POST('/api/v1/api-keys', { body: { name, scopes } }).then(bodyOf)).data,
    onSuccess: () => queries.invalidateQueries({ queryKey: keysKey(id) }),
  });
  if (make.data) return <NewKey made={make.data} onClose={onClose} />;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <Modal title="Make a key" onClose={onClose}>
      <form className="stack tight" onSubmit={submit}>
        <label>
          <span>Name, by which you tell your keys apart</span>
          <input required maxLength={100} value={name} onChange={({ target }) => setName(target.value)} />
        </label>
        <fieldset>
          <legend>It may</legend>
          {(Object.keys(SCOPES) as Scope[]).map((scope) => (
            <label key={scope} className="check">
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                onChange={({ target }) =>
                  setScopes(target.checked ? [...scopes, scope] : scopes.filter((other) => other !== scope))
                }
              />
              <span>
                {scope} <span className="muted">({SCOPES[scope]})</span>
              </span>
            </label>
          ))}
        </fieldset>
        {make.isError && <Failure error={make.error} />}
        <div className="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={make.isPending || scopes.length === 0}>
            Make it
          </button>
        </div>
      </form>
    </Modal>
  );
}

const NewKey = ({ made, onClose }: { made: CreatedApiKey; onClose: () => void }) => (
  <ShownOnce title={`The key “${made.name}”`} label="New key" secret={made.key} onClose={onClose}>
    , and the marketplace keeps no copy.
  </ShownOnce>
);

function RevokeKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => apiOf(id).DELETE('/api/v1/api-keys/{keyId}', { params: { path: { keyId: apiKey.id } } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: keysKey(id) });
      onClose();
    },
  });
  return (
    <Confirm
      title={`Revoke “${apiKey.name}”?`}
      action="Revoke it"
      isBusy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      <p>Whatever uses it stops within a second. It cannot be undone.</p>
    </Confirm>
  );
}
