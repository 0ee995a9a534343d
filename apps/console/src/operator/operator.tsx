import type { ReactNode } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { useMe } from '../api/session.js';
import { Empty, Failure, Skeleton } from '../parts/states.js';
import { AgentPage } from './agent.js';
import { Audit } from './audit.js';
import { OperatorsCall } from './call.js';
import { OperatorsListing } from './listing.js';
import { OperatorsOverview } from './overview.js';
import { PaymentPage } from './payment.js';
import { Search } from './search.js';

const PAGES = { '/operator': 'Overview', '/operator/search': 'Search', '/operator/audit': 'Audit' };

/** The pages of operators. The API refuses everyone else, whatever a page shows. */
export default function Operator() {
  const me = useMe();
  const [path] = useLocation();
  if (me.isError) return <Headed content={<Failure error={me.error} retry={() => void me.refetch()} />} />;
  if (me.data === undefined) return <Headed content={<Skeleton lines={8} />} />;
  if (!me.data?.is_operator)
    return (
      <Headed
        content={
          <Empty title="These pages are for the operators of this marketplace">
            {me.data === null && (
              <p>
                <Link href="/sign-in" className="button primary">
                  Sign in with a wallet
                </Link>
              </p>
            )}
          </Empty>
        }
      />
    );
  return (
    <>
      <nav aria-label="Operator" className="tabs agent-bar">
        {Object.entries(PAGES).map(([to, name]) => (
          <Link key={to} href={to} aria-current={path === to ? 'page' : undefined}>
            {name}
          </Link>
        ))}
      </nav>
      <Switch>
        <Route path="/operator" component={OperatorsOverview} />
        <Route path="/operator/search" component={Search} />
        <Route path="/operator/audit" component={Audit} />
        <Route path="/operator/agents/:id">{({ id }) => <AgentPage key={id} id={id} />}</Route>
        <Route path="/operator/listings/:id">{({ id }) => <OperatorsListing key={id} id={id} />}</Route>
        <Route path="/operator/payments/:id">{({ id }) => <PaymentPage key={id} id={id} />}</Route>
        <Route path="/operator/calls/:id">{({ id }) => <OperatorsCall key={id} id={id} />}</Route>
        <Route>
          <Headed title="Nothing is here" content={<Empty title="There is no page at this address." />} />
        </Route>
      </Switch>
    </>
  );
}

const Headed = ({ title = 'Operators', content }: { title?: string; content: ReactNode }) => (
  <>
    <h1>{title}</h1>
    {content}
  </>
);
