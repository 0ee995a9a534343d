import type { Balance, GatewayRequest, LedgerEntry } from '@market/sdk';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { count, dayName, exactUsd, microsOfCents, shortUsd } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { BarChart } from '../parts/charts.js';
import { Loaded } from '../parts/states.js';
import { Money } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { useBalance, useKeys, useOwnListings, useRecentCalls, useRecentEntries } from './owner-queries.js';

const DAYS = 30;
const DAY_MS = 86_400_000;
const FAILED: ReadonlySet<string> = new Set(['seller_failed', 'refund_due', 'refunded']);

/** The last thirty days of an agent, and its open tasks. */
export function Overview() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(name);
  const days = useMemo(() => lastDays(DAYS), []);
  const from = days[0]!.toISOString();
  const entries = useRecentEntries(id, from);
  const calls = useRecentCalls(id, from);
  return (
    <>
      <h1>{name}</h1>
      <ToDo />
      <Standing />
      <h2>Last {DAYS} days</h2>
      <Loaded query={entries} lines={6}>
        {({ items, isWhole }) => (
          <>
            <dl className="numbers">
              <Sum title="Earned, after fees" micros={sumOf(items, earned)} />
              <Sum title="Fees" micros={sumOf(items, fees)} />
              <Sum title="Spent" micros={sumOf(items, spent)} />
            </dl>
            <div className="two">
              <BarChart
                title="Earned, US dollars a day"
                days={days}
                show={shortUsd}
                series={[{ name: 'after fees', values: byDay(days, items, earned) }]}
                empty={`What the agent earns is shown here day by day. It sold nothing in the last ${DAYS} days.`}
              />
              <BarChart
                title="Spent, US dollars a day"
                days={days}
                show={shortUsd}
                series={[{ name: 'in all', values: byDay(days, items, spent) }]}
                empty={`What the agent pays is shown here day by day. It bought nothing in the last ${DAYS} days.`}
              />
            </div>
            {!isWhole && <Partial of="entries" count={items.length} />}
          </>
        )}
      </Loaded>
      <Loaded query={calls} lines={6}>
        {({ items, isWhole }) => (
          <>
            <BarChart
              title="Paid calls a day"
              days={days}
              show={count}
              series={[
                { name: 'delivered', values: byDay(days, items, ({ status }) => Number(status === 'succeeded')) },
                { name: 'failed', values: byDay(days, items, ({ status }) => Number(FAILED.has(status))) },
              ]}
              empty={`Calls that the agent makes and gets are shown here day by day. There was none in the last ${DAYS} days.`}
            />
            <p className="muted">{shareOfDelivered(items)}</p>
            {!isWhole && <Partial of="calls" count={items.length} />}
          </>
        )}
      </Loaded>
    </>
  );
}

/** The current balances of the agent. */
function Standing() {
  const balance = useBalance(useAgent().agent_id);
  return (
    <Loaded query={balance} lines={2}>
      {({ payable, fees, refunds }) => (
        <dl className="numbers">
          <Sum title="To be paid out" micros={Number(payable.micros)} />
          <Sum title="Fees due" micros={Number(fees.due.micros)} />
          <Sum title="Refunds owed to it" micros={Number(refunds.due_to_account.micros)} />
          <Sum title="Refunds it owes" micros={Number(refunds.due_by_account.micros)} />
        </dl>
      )}
    </Loaded>
  );
}

const Sum = ({ title, micros }: { title: string; micros: number }) => (
  <div>
    <dt>{title}</dt>
    <dd>
      <Money micros={micros} />
    </dd>
  </div>
);

const Partial = ({ of: things, count: read }: { of: string; count: number }) => (
  <p className="muted small">
    Of the latest {count(read)} {things}; older ones of these days are not in the chart.
  </p>
);

/** What needs the owner's attention: overdue fees, listings that sell nothing, no key to call with. */
function ToDo() {
  const { agent_id: id } = useAgent();
  const link = useAgentLink();
  const listings = useOwnListings(id, 1);
  const keys = useKeys(id);
  const { fees, refunds } = useBalance(id).data ?? {};
  const owed = Number(refunds?.due_by_account.micros ?? 0);
  const todo = [
    ...(fees && fees.status !== 'good'
      ? [{ to: '/mine/money', text: `Fees of ${exactUsd(Number(fees.due.micros))} are due. ${consequenceOf(fees)}` }]
      : []),
    ...(owed > 0 ? [{ to: '/mine/refunds', text: `Refunds of ${exactUsd(owed)} are to be paid back.` }] : []),
    ...(listings.data?.data ?? []).flatMap(({ name, status }) =>
      status === 'suspended' ? [{ to: '/mine/listings', text: `“${name}” is suspended and sells nothing.` }] : [],
    ),
    ...(keys.data && !keys.data.some(({ is_active }) => is_active)
      ? [{ to: '/mine/keys', text: 'No key works: the agent cannot call anything.' }]
      : []),
  ];
  if (todo.length === 0) return null;
  return (
    <section className="notice" aria-label="What needs doing">
      <ul>
        {todo.map(({ to, text }) => (
          <li key={text}>
            <Link href={link(to)}>{text}</Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function consequenceOf({ status, pay_by }: Balance['fees']): string {
  if (status === 'overdue') return 'Paid listings are off the market until they are paid.';
  return pay_by === null
    ? 'That is more than half of what may be due.'
    : `Paid listings leave the market on ${dayName(new Date(pay_by))} unless they are paid.`;
}

const signed = ({ direction, amount_cents }: LedgerEntry): number =>
  microsOfCents(amount_cents) * (direction === 'credit' ? 1 : -1);
const isOn = (name: string, { account }: LedgerEntry): boolean => account.endsWith(`:${name}`);
/** A fee is a debit, whether it is withheld or owed; its payment is a credit. */
const fees = ({ type, direction, amount_cents }: LedgerEntry): number =>
  type === 'marketplace_fee' && direction === 'debit' ? microsOfCents(amount_cents) : 0;
const earned = (entry: LedgerEntry): number => (entry.type === 'seller_credit' ? signed(entry) : -fees(entry));
/** Refunded money was not spent. */
const spent = (entry: LedgerEntry): number => (isOn('payments', entry) || isOn('refunds', entry) ? -signed(entry) : 0);
const sumOf = (entries: LedgerEntry[], value: (entry: LedgerEntry) => number): number =>
  entries.reduce((sum, entry) => sum + value(entry), 0);

function shareOfDelivered(calls: GatewayRequest[]): string {
  const delivered = calls.filter(({ status }) => status === 'succeeded').length;
  const failed = calls.filter(({ status }) => FAILED.has(status)).length;
  return delivered + failed === 0
    ? ''
    : `${count(delivered)} of ${count(delivered + failed)} paid calls were delivered.`;
}

/** Returns local midnights, oldest first, today's last. */
function lastDays(number: number): Date[] {
  const today = new Date();
  return Array.from(
    { length: number },
    (_, index) => new Date(today.getFullYear(), today.getMonth(), today.getDate() - (number - 1 - index)),
  );
}

function byDay<T extends { created_at: string }>(days: Date[], items: T[], value: (item: T) => number): number[] {
  const sums = days.map(() => 0);
  for (const item of items) {
    const at = Date.parse(item.created_at);
    // A day on which the clock changes does not have 24 hours, so the estimate is corrected with the midnights.
    let index = Math.min(days.length - 1, Math.max(0, Math.floor((at - days[0]!.getTime()) / DAY_MS)));
    while (index > 0 && at < days[index]!.getTime()) index -= 1;
    while (index < days.length - 1 && at >= days[index + 1]!.getTime()) index += 1;
    sums[index]! += value(item);
  }
  return sums;
}
