import { useEffect, useRef, type ReactNode } from 'react';
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
import { ListingPage } from './listing.js';
import { Listings } from './listings.js';
import { Money } from './money.js';
import { NewListing } from './new-listing.js';
import { Overview } from './overview.js';
import { Receipts } from './receipts.js';
import { Refunds } from './refunds.js';
import { Statements } from './statements.js';
import { Subscriptions } from './subscriptions.js';
import { Wallets } from './wallets.js';
import { WebhookDeliveries } from './webhook-deliveries.js';
import { Webhooks } from './webhooks.js';

/** The tabs, and those below the tab of money. */
const PAGES = {
  '/mine': 'Overview',
  '/mine/listings': 'Listings',
  '/mine/calls': 'Calls',
  '/mine/subscriptions': 'Subscriptions',
  '/mine/money': 'Money',
  '/mine/keys': 'Keys',
  '/mine/wallets': 'Wallets',
  '/mine/webhooks': 'Webhooks',
};
const MONEY = {
  '/mine/money': 'Balance',
  '/mine/refunds': 'Refunds',
  '/mine/receipts': 'Receipts',
  '/mine/statements': 'Statements',
  '/mine/ledger': 'Ledger',
};

/** The pages of a signed-in human about the agents that it has claimed. */
export default function Mine() {
  const me = useMe();
  const [path] = useLocation();
  const [get] = useFilters();
  useTitle('My agents');
  if (me.isError)
    return <Headed title="My agents" content={<Failure error={me.error} retry={() => void me.refetch()} />} />;
  if (me.data === undefined) return <Headed title="My agents" content={<Skeleton lines={8} />} />;
  if (me.data === null) return <Headed title="My agents" content={<Strangers />} />;
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
              <Link href="/mine">My agents</Link>
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
        <Route path="/mine/money" component={Money} />
        <Route path="/mine/ledger" component={Ledger} />
        <Route path="/mine/receipts" component={Receipts} />
        <Route path="/mine/refunds" component={Refunds} />
        <Route path="/mine/statements" component={Statements} />
        <Route path="/mine/keys" component={Keys} />
        <Route path="/mine/listings" component={Listings} />
        <Route path="/mine/listings/new" component={NewListing} />
        <Route path="/mine/listings/:id">{({ id }) => <ListingPage key={id} id={id} />}</Route>
        <Route path="/mine/subscriptions" component={Subscriptions} />
        <Route path="/mine/wallets" component={Wallets} />
        <Route path="/mine/webhooks" component={Webhooks} />
        <Route path="/mine/webhooks/:id">{({ id }) => <WebhookDeliveries id={id} />}</Route>
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
  // A single call or listing is no other agent's.
  const section = path.split('/').slice(0, 3).join('/');
  useLive(agent.agent_id);
  return (
    <div className="agent-bar">
      <div className="row">
        <label className="inline">
          <span className="visually-hidden">Agent</span>
          <select value={agent.agent_id} onChange={({ target }) => go(`${section}?agent=${target.value}`)}>
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
      <Tabs label="Agent" pages={PAGES} here={section in MONEY ? '/mine/money' : section} />
      {section in MONEY && <Tabs label="Money" pages={MONEY} here={section} />}
    </div>
  );
}

function Tabs({ label, pages, here }: { label: string; pages: Record<string, string>; here: string }) {
  const link = useAgentLink();
  const tabs = useRef<HTMLElement>(null);
  // On a narrow screen the tabs scroll, and the present one may be out of sight.
  useEffect(() => {
    const nav = tabs.current!;
    const current = nav.querySelector<HTMLElement>('[aria-current]');
    if (current) nav.scrollLeft = current.offsetLeft - nav.offsetLeft - 16;
  }, [here]);
  return (
    <nav ref={tabs} aria-label={label} className="tabs">
      {Object.entries(pages).map(([to, name]) => (
        <Link key={to} href={link(to)} aria-current={to === here ? 'page' : undefined}>
          {name}
        </Link>
      ))}
    </nav>
  );
}
