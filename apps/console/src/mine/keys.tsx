import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ApiKey, CreatedApiKey, Scope } from '@market/sdk';
import { useState, type FormEvent } from 'react';
import { apiOf, bodyOf } from '../api/client.js';
import { useTitle } from '../lib/use-title.js';
import { Confirm, Modal, SubmitOrCancel } from '../parts/modal.js';
import { ShownOnce } from '../parts/shown-once.js';
import { Empty, Failure, Loaded } from '../parts/states.js';
import { Table } from '../parts/table.js';
import { Badge, Time } from '../parts/values.js';
import { useAgent } from './agent.js';
import { BudgetOfAgent, BudgetOfKey, budgetOf, LimitFields, Limits, limitTextsOf, type LimitTexts } from './budget.js';
import { keysKey, useKeys } from './owner-queries.js';

const SCOPES: Record<Scope, string> = {
  read: 'read the books',
  write: 'change listings and keys',
  subscribe: 'buy',
};

const DAY_MS = 86_400_000;
/** In how many days a key ends. */
const LIVES: Record<string, string> = {
  '': 'never',
  1: 'in a day',
  7: 'in a week',
  30: 'in 30 days',
  90: 'in 90 days',
  365: 'in a year',
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
              <Table
                label="Keys"
                head={['Name', 'May', 'Last used', 'Ends', 'May spend', 'Change']}
                hasActions
                rows={data.map((key) => [
                  <span>
                    {key.name}
                    <br />
                    <code className="muted">{key.key_prefix}…</code>
                  </span>,
                  key.scopes.join(', '),
                  key.last_used_at ? <Time at={key.last_used_at} /> : 'never',
                  key.expires_at ? <Time at={key.expires_at} /> : 'never',
                  <Limits budget={key.budget} />,
                  key.is_active ? (
                    <span className="row">
                      <button type="button" className="small" onClick={() => setBounded(key)}>
                        Budget<span className="visually-hidden"> of {key.name}</span>
                      </button>
                      <button type="button" className="small" onClick={() => setRevoked(key)}>
                        Revoke<span className="visually-hidden"> {key.name}</span>
                      </button>
                    </span>
                  ) : (
                    <Badge state="revoked" />
                  ),
                ])}
              />
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
  const [days, setDays] = useState('');
  const [limits, setLimits] = useState<LimitTexts>(limitTextsOf(null));
  const make = useMutation({
    mutationFn: async () => {
      const expires_at = days === '' ? undefined : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
      const body = { name, scopes, expires_at, budget: budgetOf(limits) ?? undefined };
      return (await apiOf(id).POST('/api/v1/api-keys', { body }).then(bodyOf)).data;
    },
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
        <label>
          <span>It ends</span>
          <select value={days} onChange={({ target }) => setDays(target.value)}>
            {Object.entries(LIVES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <LimitFields limits={limits} onChange={setLimits} />
        {make.isError && <Failure error={make.error} />}
        <SubmitOrCancel action="Make it" isDisabled={make.isPending || scopes.length === 0} onClose={onClose} />
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
