import type { Balance } from '@market/sdk';
import { useState } from 'react';
import { Link } from 'wouter';
import { useIsSandbox } from '../api/public-queries.js';
import { exactUsd, periodName, networkName } from '../lib/format.js';
import { useTitle } from '../lib/use-title.js';
import { Empty, Loaded } from '../parts/states.js';
import { Facts, Table } from '../parts/table.js';
import { Badge, Hash, Money as Amount, Time } from '../parts/values.js';
import { useAgent, useAgentLink } from './agent.js';
import { useBalance, useStatement, useWallets } from './owner-queries.js';
import { PayFees } from './pay-fees.js';

const micros = ({ micros: text }: { micros: string }): number => Number(text);
const Of = ({ amount }: { amount: { micros: string } }) => <Amount micros={micros(amount)} />;

/** What an agent earned and where that is, apart from what it spent; fees due and refunds. */
export function Money() {
  const { agent_id: id, display_name: name } = useAgent();
  useTitle(`Money of ${name}`);
  const balance = useBalance(id);
  return (
    <>
      <h1>Money</h1>
      <Loaded query={balance} lines={12}>
        {(found) => (
          <div className="stack">
            <Earnings balance={found} />
            <Fees fees={found.fees} />
            <Spending />
            <Refunds refunds={found.refunds} />
          </div>
        )}
      </Loaded>
    </>
  );
}

const Earnings = ({ balance: { earned, received, payable, payouts } }: { balance: Balance }) => (
  <section className="stack tight" aria-labelledby="earnings">
    <h2 id="earnings">Earnings</h2>
    <Facts
      className="numbers"
      facts={{
        'Earned, after fees': <Of amount={earned} />,
        'Paid into its own wallets': <Amount micros={received.reduce((sum, { amount }) => sum + micros(amount), 0)} />,
        'To be paid out': <Of amount={payable} />,
      }}
    />
    <Hindrance payable={micros(payable)} />
    {received.length > 0 && (
      <Table
        label="Paid into its own wallets"
        head={['Chain', 'Wallet', 'Received']}
        numbers={['Received']}
        rows={received.map(({ network, wallet, amount }) => [
          network === null ? 'several, carried by Relay' : networkName(network),
          wallet === null ? '–' : <Hash of={wallet} />,
          <Of amount={amount} />,
        ])}
      />
    )}
    <h3>Payouts</h3>
    {payouts.length === 0 ? (
      <Empty title="No payouts yet">
        <p>
          Buyers who sign pay straight into the agent’s wallet. What the operator receives for it is paid out to that
          wallet, and each payout is listed here with its transaction.
        </p>
      </Empty>
    ) : (
      <Table
        label="Payouts"
        head={['When', 'Chain', 'Wallet', 'Transaction', 'Amount']}
        numbers={['Amount']}
        rows={payouts.map((payout) => [
          <Time at={payout.confirmed_at} />,
          networkName(payout.network),
          <Hash of={payout.wallet} />,
          <Hash of={payout.transaction_hash} />,
          <Of amount={payout.amount} />,
        ])}
      />
    )}
  </section>
);

/** What stands in the way of the next payout. */
function Hindrance({ payable }: { payable: number }) {
  const { agent_id: id } = useAgent();
  const link = useAgentLink();
  const isSandbox = useIsSandbox();
  const wallets = useWallets(id).data;
  if (!wallets) return null;
  const wallet = wallets
    .filter(({ status, capabilities }) => status === 'active' && capabilities.includes('payout'))
    .sort((a, b) => Number(b.is_default_payout) - Number(a.is_default_payout))[0];
  if (!wallet)
    return (
      <p className="notice">
        No wallet of the agent may be paid, so nothing can be paid out.{' '}
        <Link href={link('/mine/wallets')}>Link one</Link>, or let one get paid.
      </p>
    );
  if (payable <= 0) return null;
  return (
    <p className="muted">
      {isSandbox ? (
        'It is play money, which stays in the books. With real money the operator pays it'
      ) : (
        <>The operator pays it</>
      )}{' '}
      to <Hash of={wallet.address} />; <Link href={link('/mine/wallets')}>change the wallet</Link>.
    </p>
  );
}

const STANDING: Record<Balance['fees']['status'], string> = { good: 'good', notice: 'due soon', overdue: 'overdue' };

function Fees({ fees: { due, paid, limit, status, pay_by } }: { fees: Balance['fees'] }) {
  const [isPaying, setIsPaying] = useState(false);
  return (
    <section className="card stack tight" aria-labelledby="fees">
      <div className="row between">
        <h2 id="fees">
          Fees due: <Of amount={due} /> {status !== 'good' && <Badge state={STANDING[status]} />}
        </h2>
        {micros(due) > 0 && (
          <button type="button" className={status === 'good' ? '' : 'primary'} onClick={() => setIsPaying(true)}>
            Pay {exactUsd(micros(due))}
          </button>
        )}
      </div>
      <meter
        min={0}
        max={micros(limit)}
        value={micros(due)}
        aria-label={`Fees due, of the ${exactUsd(micros(limit))} that may be due`}
      />
      <p className="muted">
        Of sales that went straight into the agent’s wallet, the fees are due later: up to <Of amount={limit} />.{' '}
        {pay_by === null ? (
          'Beyond that, paid listings leave the market after some days of grace.'
        ) : (
          <strong>
            Paid listings leave the market on <Time at={pay_by} /> unless they are paid.
          </strong>
        )}{' '}
        Paid so far: <Of amount={paid} />.
      </p>
      {isPaying && <PayFees onClose={() => setIsPaying(false)} />}
    </section>
  );
}

function Spending() {
  const { agent_id: id } = useAgent();
  const link = useAgentLink();
  const month = new Date().toISOString().slice(0, 7);
  const statement = useStatement(id, month, { page: 1, limit: 1 });
  return (
    <section className="stack tight" aria-labelledby="this-month">
      <h2 id="this-month">{periodName(month)}</h2>
      <Loaded query={statement} lines={3}>
        {({ statement: { totals } }) => (
          <Facts
            className="numbers"
            facts={{
              Earned: <Of amount={totals.earned} />,
              Fees: <Of amount={totals.fees} />,
              Spent: <Of amount={totals.spent} />,
            }}
          />
        )}
      </Loaded>
      <p>
        <Link href={link('/mine/statements')}>Statements of other periods</Link> ·{' '}
        <Link href={link('/mine/keys')}>What keys may spend</Link>
      </p>
    </section>
  );
}

function Refunds({ refunds: { due_to_account, due_by_account } }: { refunds: Balance['refunds'] }) {
  const link = useAgentLink();
  return (
    <section className="stack tight" aria-labelledby="refunds">
      <h2 id="refunds">Refunds</h2>
      <Facts
        className="numbers"
        facts={{
          'Owed to the agent': <Of amount={due_to_account} />,
          'Owed by the agent': <Of amount={due_by_account} />,
        }}
      />
      <p>
        <Link href={link('/mine/refunds')}>All refunds and their state</Link>
      </p>
    </section>
  );
}
