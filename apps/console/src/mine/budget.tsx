import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ApiKey, Data } from '@market/sdk';
import { useState, type FormEvent, type ReactNode } from 'react';
import { apiOf, bodyOf } from '../api/client.js';
import { exactUsd, microsOfUsd } from '../lib/format.js';
import { Modal, SubmitOrCancel } from '../parts/modal.js';
import { Failure, Loaded } from '../parts/states.js';
import { Badge, Time, Usd } from '../parts/values.js';
import { useAgent } from './agent.js';
import { budgetKey, keysKey } from './owner-queries.js';

type AgentBudget = Data<'getBudget'>;
type Budget = NonNullable<AgentBudget['budget']>;
type Spending = AgentBudget['spending'];

const LIMITS = { per_call_usd: 'a call', per_day_usd: 'a day (UTC)', per_month_usd: 'a month (UTC)' } as const;
type Limit = keyof typeof LIMITS;
const LIMIT_NAMES = Object.keys(LIMITS) as Limit[];
const NO_LIMITS: Budget = { per_call_usd: null, per_day_usd: null, per_month_usd: null, listings: null, frozen: false };

/** The budget of all keys of the agent together, and the switch that stops them all. */
export function BudgetOfAgent() {
  const { agent_id: id } = useAgent();
  const [isOpen, setIsOpen] = useState(false);
  const query = useQuery({
    queryKey: budgetKey(id),
    queryFn: ({ signal }) => apiOf(id).GET('/api/v1/me/budget', { signal }).then(bodyOf),
  });
  const save = useSave((budget) => apiOf(id).PATCH('/api/v1/me/budget', { body: { budget } }));
  return (
    <section className="card stack tight" aria-labelledby="agent-budget">
      <Loaded query={query} lines={3}>
        {({ data: { budget, spending } }) => {
          const isFrozen = budget?.frozen === true;
          return (
            <div className="stack tight">
              <div className="row between">
                <h2 id="agent-budget">All keys together {isFrozen && <Badge state="frozen" />}</h2>
                <span className="row">
                  <button type="button" onClick={() => setIsOpen(true)}>
                    Set limits
                  </button>
                  <button
                    type="button"
                    className={isFrozen ? 'primary' : 'danger'}
                    disabled={save.isPending}
                    onClick={() => save.mutate({ ...NO_LIMITS, ...budget, frozen: !isFrozen })}
                  >
                    {isFrozen ? 'Let it pay again' : 'Stop all payments'}
                  </button>
                </span>
              </div>
              <Spent budget={budget} spending={spending} />
              {save.isError && <Failure error={save.error} />}
              {isOpen && (
                <SetLimits
                  title="What all keys may spend together"
                  budget={budget}
                  save={save}
                  onClose={() => setIsOpen(false)}
                />
              )}
            </div>
          );
        }}
      </Loaded>
    </section>
  );
}

/** The limits of one key. */
export function BudgetOfKey({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const { agent_id: id } = useAgent();
  const params = { path: { keyId: apiKey.id } };
  const query = useQuery({
    queryKey: [...keysKey(id), apiKey.id],
    queryFn: ({ signal }) => apiOf(id).GET('/api/v1/api-keys/{keyId}', { params, signal }).then(bodyOf),
  });
  const save = useSave((budget) => apiOf(id).PATCH('/api/v1/api-keys/{keyId}', { params, body: { budget } }));
  return (
    <SetLimits title={`What “${apiKey.name}” may spend`} budget={apiKey.budget} save={save} onClose={onClose}>
      <Loaded query={query} lines={2}>
        {({ data: { budget, spending } }) => <Spent budget={budget} spending={spending} />}
      </Loaded>
    </SetLimits>
  );
}

function useSave(send: (budget: Budget | null) => Promise<unknown>) {
  const { agent_id: id } = useAgent();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: keysKey(id) }),
        queries.invalidateQueries({ queryKey: budgetKey(id) }),
      ]),
  });
}

/** The limits of a budget on one line. */
export const Limits = ({ budget }: { budget: Budget | null }) => {
  const set = LIMIT_NAMES.filter((name) => budget !== null && budget[name] !== null);
  if (budget?.frozen) return <Badge state="frozen" />;
  if (set.length === 0) return 'no limit';
  return set.map((name) => `${exactUsd(microsOfUsd(budget![name]!))} ${LIMITS[name]}`).join(', ');
};

function Spent({ budget, spending }: { budget: Budget | null; spending: Spending }) {
  const periods = [
    { name: 'Spent today', limit: budget?.per_day_usd ?? null, ...spending.day },
    { name: 'Spent this month', limit: budget?.per_month_usd ?? null, ...spending.month },
  ];
  return (
    <dl className="facts">
      {typeof budget?.per_call_usd === 'number' && (
        <div>
          <dt>A call at most</dt>
          <dd>
            <Usd usd={budget.per_call_usd} />
          </dd>
        </div>
      )}
      {periods.map(({ name, limit, spent_usd, resets_at }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Usd usd={spent_usd} />
            {limit !== null && (
              <>
                {' of '}
                <Usd usd={limit} />
                <meter min={0} max={limit} value={spent_usd} aria-label={`${name}, of the limit`} />
                <span className="muted small">
                  anew <Time at={resets_at} />
                </span>
              </>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The limits as they are typed; an empty text is none. */
export type LimitTexts = Record<Limit, string>;

export const limitTextsOf = (budget: Budget | null): LimitTexts => ({
  per_call_usd: String(budget?.per_call_usd ?? ''),
  per_day_usd: String(budget?.per_day_usd ?? ''),
  per_month_usd: String(budget?.per_month_usd ?? ''),
});

/** Null without a limit. */
export function budgetOf(limits: LimitTexts): Budget | null {
  const given = LIMIT_NAMES.filter((name) => limits[name] !== '').map((name) => [name, Number(limits[name])] as const);
  return given.length === 0 ? null : { ...NO_LIMITS, ...Object.fromEntries(given) };
}

export const LimitFields = ({ limits, onChange }: { limits: LimitTexts; onChange: (limits: LimitTexts) => void }) =>
  LIMIT_NAMES.map((name) => (
    <label key={name}>
      <span>At most {LIMITS[name]}, in US dollars</span>
      <input
        type="number"
        min={0}
        step={0.000001}
        placeholder="no limit"
        value={limits[name]}
        onChange={({ target }) => onChange({ ...limits, [name]: target.value })}
      />
    </label>
  ));

function SetLimits({
  title,
  budget,
  save,
  onClose,
  children,
}: {
  title: string;
  budget: Budget | null;
  save: ReturnType<typeof useSave>;
  onClose: () => void;
  children?: ReactNode;
}) {
  const [limits, setLimits] = useState(limitTextsOf(budget));
  const [isFrozen, setIsFrozen] = useState(budget?.frozen ?? false);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const set = budgetOf(limits);
    const isNone = !isFrozen && !budget?.listings && set === null;
    const kept = { frozen: isFrozen, listings: budget?.listings ?? null };
    save.mutate(isNone ? null : { ...(set ?? NO_LIMITS), ...kept }, { onSuccess: onClose });
  };
  return (
    <Modal title={title} onClose={onClose}>
      {children}
      <form className="stack tight" onSubmit={submit}>
        <LimitFields limits={limits} onChange={setLimits} />
        <label className="check">
          <input type="checkbox" checked={isFrozen} onChange={({ target }) => setIsFrozen(target.checked)} />
          <span>Frozen: it pays nothing at all</span>
        </label>
        {save.isError && <Failure error={save.error} />}
        <SubmitOrCancel action="Save" isDisabled={save.isPending} onClose={onClose} />
      </form>
    </Modal>
  );
}
