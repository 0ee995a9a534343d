import type { ReactNode } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { useMe } from '../api/session.js';
import { useFilters } from '../lib/search-params.js';
import { useTitle } from '../lib/use-title.js';
import { Empty, Failure, Skeleton } from '../parts/states.js';
import { AgentContext, useAgentLink, type OwnedAgent } from './agent.js';
import { CallPage } from './call.js';
import { Calls } from './calls.js';
import { Claim } from './claim.js';
import { Keys } from './keys.js';
import { Ledger } from './ledger.js';
import { useLive } from './live.js';
import { Listings } from './listings.js';
import { Overview } from './overview.js';
import { Receipts } from './receipts.js';
import { Refunds } from './refunds.js';
import { Statements } from './statements.js';

const PAGES = {
  '/mine': 'Overview',
  '/mine/calls': 'Calls',
  '/mine/ledger': 'Ledger',
  '/mine/receipts': 'Receipts',
  '/mine/refunds': 'Refunds',
  '/mine/statements': 'Statements',
  '/mine/keys': 'Keys',
  '/mine/listings': 'Listings',
};

/** The pages of a signed-in human about the agents that it has claimed. */
export default function Mine() {
  const me = useMe();
  const [path] = useLocation();
  const [get] = useFilters();
  useTitle('Your agents');
  if (me.isError)
    return <Headed title="Your agents" content={<Failure error={me.error} retry={() => void me.refetch()} />} />;
  if (me.data === undefined) return <Headed title="Your agents" content={<Skeleton lines={8} />} />;
  if (me.data === null) return <Headed title="Your agents" content={<Strangers />} />;
  const agents = me.data.agents ?? [];
  if (path === '/mine/claim' || agents.length === 0) return <Claim hasAgents={agents.length > 0} />;
  const asked = get('agent');
  const agent = asked === '' ? agents[0] : agents.find(({ agent_id }) => agent_id === asked);
  if (!agent)
    return (
      <Headed
        title="Not one of your agents"
        content={
          <Empty title="This address shows an agent that you have not claimed.">
            <p>
              <Link href="/mine">Your agents</Link>
            </p>
          </Empty>
        }
      />
    );
  return (
    <AgentContext value={agent}>
      <AgentBar agents={agents} agent={agent} />
      <Switch key={agent.agent_id}>
        <Route path="/mine" component={Overview} />
        <Route path="/mine/calls" component={Calls} />
        <Route path="/mine/calls/:id">{({ id }) => <CallPage id={id} />}</Route>
        <Route path="/mine/ledger" component={Ledger} />
        <Route path="/mine/receipts" component={Receipts} />
        <Route path="/mine/refunds" component={Refunds} />
        <Route path="/mine/statements" component={Statements} />
        <Route path="/mine/keys" component={Keys} />
        <Route path="/mine/listings" component={Listings} />
        <Route>
          <Headed title="Nothing is here" content={<Empty title="There is no page at this address." />} />
        </Route>
      </Switch>
    </AgentContext>
  );
}

const Headed = ({ title, content }: { title: string; content: ReactNode }) => (
  <>
    <h1>{title}</h1>
    {content}
  </>
);

const Strangers = () => (
  <Empty title="Sign in to see what your agents earn and spend">
    <p>
      <Link href="/sign-in" className="button primary">
        Sign in with a wallet
      </Link>
    </p>
  </Empty>
);

function AgentBar({ agents, agent }: { agents: OwnedAgent[]; agent: OwnedAgent }) {
  const [path, go] = useLocation();
  const link = useAgentLink();
  useLive(agent.agent_id);
  return (
    <div className="agent-bar">
      <div className="row">
        <label className="inline">
          <span className="visually-hidden">Agent</span>
          <select value={agent.agent_id} onChange={({ target }) => go(`${path}?agent=${target.value}`)}>
            {agents.map(({ agent_id, display_name }) => (
              <option key={agent_id} value={agent_id}>
                {display_name}
              </option>
            ))}
          </select>
        </label>
        <Link href="/mine/claim" className="small">
          Claim another
        </Link>
      </div>
      <nav aria-label="Agent" className="tabs">
        {Object.entries(PAGES).map(([to, name]) => {
          const isHere = to === '/mine' ? path === to : path.startsWith(to);
          return (
            <Link key={to} href={link(to)} aria-current={isHere ? 'page' : undefined}>
              {name}
            </Link>
          );
        })}
      </nav>
    </div>
  );
}
